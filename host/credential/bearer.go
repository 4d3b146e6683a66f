package credential

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxBearer is the longest bearer, in bytes.
const maxBearer = 4096

// ReadBearer reads the bearer that requests to the host carry from an inherited descriptor, to its end, and closes it.
func ReadBearer(fd int) (Secret, error) {
	f, err := inheritedFile(fd)
	if err != nil {
		return Secret{}, fmt.Errorf("--bearer-fd: %w", err)
	}
	defer f.Close()
	buf, n := make([]byte, maxBearer+1), 0
	for n < len(buf) && err == nil {
		var m int
		m, err = f.Read(buf[n:])
		n += m
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		clear(buf)
		return Secret{}, fmt.Errorf("--bearer-fd: fd %d: %w", fd, err)
	case n > maxBearer:
		clear(buf)
		return Secret{}, fmt.Errorf("--bearer-fd: fd %d: larger than %d bytes", fd, maxBearer)
	}
	bearer := bytes.TrimSpace(buf[:n])
	if err := Check(bearer); err != nil {
		clear(buf)
		return Secret{}, fmt.Errorf("--bearer-fd: fd %d: %w", fd, err)
	}
	return NewSecret(bearer), nil
}

// inheritedFile opens a descriptor that came through exec. Such a one is never close-on-exec: any other on that number
// belongs to the language runtime.
func inheritedFile(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if fd < 0 || err != nil || flags&unix.FD_CLOEXEC != 0 {
		return nil, fmt.Errorf("fd %d is not open", fd)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), fmt.Sprintf("fd %d", fd)), nil
}
