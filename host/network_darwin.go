package host

import (
	"errors"
	"net"
	"os"
)

// hasOwnNetwork: the profile closes the network but for the proxy's loopback port instead.
const hasOwnNetwork = false

func listenerSocket() (ours, child *os.File, err error) {
	return nil, nil, errors.New("macOS has no network namespaces")
}

func receiveListener(*os.File) (net.Listener, error) {
	return nil, errors.New("macOS has no network namespaces")
}
