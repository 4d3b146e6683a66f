package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"hostshim/host/state"
)

const (
	// A foreground launch holds the host lock while it cleans up after a killed host.
	lockWithin = time.Minute
	// A child that a killed host had just forked holds its socket and its lock until it has become the shim.
	silentWithin = 10 * time.Second
	askWithin    = time.Second
)

// takeFolder makes this the one host of the state folder: it gets the lock, and nothing holds the socket. The lock alone
// does not say that no other host lives, since it can be removed. Nor does a socket that can be reached say that one lives:
// a host answers. The complexity: lock and socket each are had, held or silent.
func takeFolder(p state.Places) (lock *os.File, err error) {
	var silent time.Time // since when the socket is held and does not answer
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if lock == nil {
			if lock, err = p.HostLock(); err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("lock: %w", err)
			}
		}
		reached, answer := ask(p.Socket())
		if lock != nil && !reached {
			return lock, nil
		}
		if !reached {
			silent = time.Time{}
		} else if silent.IsZero() {
			silent = time.Now()
		}
		if answer != "" || time.Since(begun) > lockWithin || reached && time.Since(silent) > silentWithin {
			if lock != nil {
				lock.Close()
			}
			if lock != nil && answer != "HTTP/" {
				return nil, fmt.Errorf("something else listens on %s: stop it, or name another folder with --state-dir", p.Socket())
			}
			return nil, fmt.Errorf("another host runs on %s: stop it with host shutdown, or name another folder with --state-dir", p.State)
		}
	}
}

// ask says whether something holds the socket, and how its answer begins.
func ask(socket string) (reached bool, answer string) {
	conn, err := net.DialTimeout("unix", socket, askWithin)
	if err != nil {
		return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EAGAIN), ""
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(askWithin))
	fmt.Fprintf(conn, "GET /status HTTP/1.1\r\nHost: host\r\nConnection: close\r\n\r\n")
	var start [len("HTTP/")]byte
	n, _ := io.ReadFull(conn, start[:])
	return true, string(start[:n])
}

// socket is the host's own socket file. The folder may be replaced while it lives: then another file of that name is not
// its own.
type socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

func (s *socket) remove() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		os.Remove(s.path)
	}
}

// listen opens the socket. The caller holds the folder, so a socket that is there already belongs to a dead host and is
// replaced. Another kind of file is left alone (H02).
func listen(path string) (*socket, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket: move it away", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	own := &socket{UnixListener: l, path: path}
	// Until this call nobody else gets in either: the folder is closed to them.
	if err = os.Chmod(path, 0o600); err == nil {
		own.file, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return own, nil
}
