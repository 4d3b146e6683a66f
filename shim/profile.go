package shim

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// openProfile opens a sandbox profile and checks it (X03): a regular file, not a link to one, not too large, owned by the
// caller or root, and writable by nobody else. It checks the opened file, so that the checked file is the one that is
// read. The shim does this and not the second stage, which may be in a user namespace that shows other owners.
func openProfile(path string) (*os.File, error) {
	// Non-blocking, because opening a FIFO would wait for a writer.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == syscall.ELOOP || err == syscall.ENXIO { // a link; a socket
		return nil, badProfile(path, errors.New("not a regular file"))
	} else if err != nil {
		return nil, badProfile(path, err)
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err == nil {
		err = checkProfile(&st, uint32(syscall.Geteuid()))
	}
	if err == nil {
		err = syscall.SetNonblock(fd, false) // os.NewFile would give a non-blocking file to the runtime's poller, which takes no regular file
	}
	if err != nil {
		syscall.Close(fd)
		return nil, badProfile(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func checkProfile(st *syscall.Stat_t, euid uint32) error {
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

// readAllProfile reads an opened profile. It checks the size again, because its owner may have enlarged it since.
func readAllProfile(f io.Reader) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(4 << 10) // most are smaller
	_, err := data.ReadFrom(io.LimitReader(f, MaxProfile+1))
	if err == nil && data.Len() > MaxProfile {
		err = tooLarge()
	}
	return data.Bytes(), err
}

func badProfile(path string, err error) error {
	e := &stageError{Sandbox: true, Step: "sandbox profile " + path}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	return e
}
