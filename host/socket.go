package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the longest path that a socket address holds; a NUL ends it.
var maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// Socket is where the long-lived host listens.
func (p Places) Socket() string { return filepath.Join(p.State, "host.sock") }

// checkSocketPath refuses a path that no socket address can hold.
func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("socket path %q is %d bytes long, the system allows %d: name a shorter folder with --state-dir", path, len(path), maxSocketPath)
	}
	return nil
}

// hostLock makes sure that one host works in a state folder; EWOULDBLOCK: there is one. The file stays: removing it
// would let two hosts lock two files of one name.
func (h *Host) hostLock() (*os.File, error) {
	return lockFile(filepath.Join(h.Places.State, "host.lock"), os.O_RDWR|os.O_CREATE, 0)
}

// listen opens the socket. The caller has the lock, so a socket that is there is a dead host's, unless something
// else answers on it; that, and any other file, is left alone (H02).
func (h *Host) listen() (*net.UnixListener, error) {
	path := h.Places.Socket()
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
	// Nobody else gets into the folder meanwhile.
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// maxBearer is the longest bearer, in bytes.
const maxBearer = 4096

// inheritedFile is a descriptor that came through exec, and so is not close-on-exec: any other on that number is
// the language runtime's own.
func inheritedFile(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if fd < 0 || err != nil || flags&unix.FD_CLOEXEC != 0 {
		return nil, fmt.Errorf("fd %d is not open", fd)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), fmt.Sprintf("fd %d", fd)), nil
}
