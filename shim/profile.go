package shim

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// openProfile opens a sandbox profile and checks that it is one (X03): a regular file, not a link to one, not
// too large, owned by the caller or root, and writable by nobody else. The checks are of the opened file, so
// that what is read is what was judged; and they are made by the shim, whose user ids are the machine's own,
// not by the second stage, which may see them through a user namespace that knows one user only.
func openProfile(path string) (*os.File, error) {
	// Non-blocking, so that a FIFO cannot hang a launch.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == syscall.ELOOP || err == syscall.ENXIO { // the path's last element is a link; a socket
		return nil, badProfile(path, errors.New("not a regular file"))
	} else if err != nil {
		return nil, badProfile(path, err)
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err == nil {
		err = judgeProfile(&st, uint32(syscall.Geteuid()))
	}
	if err == nil {
		err = syscall.SetNonblock(fd, false) // else os.NewFile would give it to the runtime's poller, which takes no plain file
	}
	if err != nil {
		syscall.Close(fd)
		return nil, badProfile(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func judgeProfile(st *syscall.Stat_t, euid uint32) error {
	switch {
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return errors.New("not a regular file")
	case st.Uid != euid && st.Uid != 0:
		return errors.New("owned by another user")
	case st.Mode&0o022 != 0:
		return errors.New("writable by other users")
	case st.Size > MaxProfile:
		return tooLarge()
	}
	return nil
}

func tooLarge() error { return errors.New("larger than " + strconv.Itoa(MaxProfile) + " bytes") }

// readAllProfile reads an opened profile to its end, which its owner may have moved since the check.
func readAllProfile(f io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, MaxProfile+1))
	if err == nil && len(data) > MaxProfile {
		err = tooLarge()
	}
	return data, err
}

func badProfile(path string, err error) error {
	e := &stageError{Sandbox: true, Step: "sandbox profile " + path}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	return e
}
