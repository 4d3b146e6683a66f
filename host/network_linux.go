package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// listenerWithin is how long the second stage may take to make it.
const listenerWithin = 10 * time.Second

// OwnNetworks says whether a session can have a network of its own: here a namespace.
const OwnNetworks = true

// listenerSocket is the pair of sockets through which a session's listener comes out of its network.
func listenerSocket() (ours, child *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "listener"), os.NewFile(uintptr(fds[1]), "listener"), nil
}

// receiveListener waits for the listener, 10 s at most. A shim that gives up closes the socket.
func receiveListener(socket *os.File) (net.Listener, error) {
	conn, err := net.FileConn(socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("listener: not a Unix socket")
	}
	unixConn.SetReadDeadline(time.Now().Add(listenerWithin))
	one, control := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := unixConn.ReadMsgUnix(one, control)
	if err != nil {
		return nil, fmt.Errorf("listener: %w", err)
	}
	messages, err := syscall.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("listener: the shim sent none")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("listener: the shim sent none")
	}
	syscall.CloseOnExec(fds[0])
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}
