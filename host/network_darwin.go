package host

import (
	"errors"
	"net"
	"os"
)

// OwnNetworks says whether a session can have a network of its own. Here the profile closes the network instead, but for
// the port of the proxy.
const OwnNetworks = false

// TryOwnNetwork: nobody asks where OwnNetworks is false.
func TryOwnNetwork(string) error { return errors.New("macOS has no network namespaces") }

func listenerSocket() (ours, child *os.File, err error) {
	return nil, nil, errors.New("macOS has no network namespaces")
}

func receiveListener(*os.File) (net.Listener, error) {
	return nil, errors.New("macOS has no network namespaces")
}
