package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"hostshim/host/state"
)

// lockWithin is how long a start waits for the host lock where no host answers. A child that a killed host had just forked
// may hold it for a moment, and a foreground launch holds it while it cleans up after a killed host.
const lockWithin = time.Minute

// takeLock makes this the one host of the state folder.
func takeLock(p state.Places) (*os.File, error) {
	for deadline := time.Now().Add(lockWithin); ; time.Sleep(10 * time.Millisecond) {
		lock, err := p.HostLock()
		if err == nil {
			return lock, nil
		} else if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock: %w", err)
		}
		conn, err := net.DialTimeout("unix", p.Socket(), time.Second)
		if err == nil {
			conn.Close()
		}
		if err == nil || time.Now().After(deadline) {
			return nil, fmt.Errorf("another host runs on %s: stop it, or name another folder with --state-dir", p.State)
		}
	}
}

// listen opens the socket. The caller has the host lock, so a socket that is there already belongs to a dead host and is
// replaced. Where something answers on it, or it is another kind of file, it is left alone (H02).
func listen(path string) (*net.UnixListener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket: move it away", path)
	default:
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, fmt.Errorf("something else listens on %s: stop it, or name another folder with --state-dir", path)
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%s may be alive: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// Until this call nobody else gets in either: the folder is closed to them.
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
