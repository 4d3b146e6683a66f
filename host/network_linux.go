package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hostshim/host/state"
	"hostshim/shim"
)

// listenerWithin is how long the second stage may take to make it.
const listenerWithin = 10 * time.Second

// OwnNetworks says whether a session can have a network of its own: here a namespace.
const OwnNetworks = true

// TryOwnNetwork says why a session would get no network of its own here, nil if it would. Systems restrict user namespaces
// in many ways, some for single programs, so this has the shim make one and start itself in it.
func TryOwnNetwork(shimPath string) error {
	dir, err := os.MkdirTemp(state.RealTemp(), "relay-network-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := filepath.EvalSymlinks(shimPath)
	if err != nil {
		return err
	}
	text, err := json.Marshal(shim.Policy{Version: shim.PolicyVersion, Read: []string{program}, ReadWrite: []string{}, Devices: []string{}, Deny: []string{},
		Network: shim.NetworkModel})
	profile := filepath.Join(dir, "profile.json")
	if err := errors.Join(err, os.WriteFile(profile, text, 0o600)); err != nil {
		return err
	}
	ours, child, err := listenerSocket()
	if err != nil {
		return err
	}
	defer ours.Close()
	defer child.Close()
	cmd := exec.Command(program, "--sandbox-profile", profile, "--listener-fd", strconv.Itoa(shim.ListenerFD), "--", program, "--version")
	cmd.ExtraFiles = []*os.File{3: child} // descriptor 6
	cmd.Env = []string{}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		_, text, _ := strings.Cut(strings.TrimSpace(said.String()), ": error: ")
		return errors.New(cmp.Or(text, err.Error()))
	}
	return nil
}

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
