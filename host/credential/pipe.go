package credential

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hostshim/shim"
)

// Pipe puts the whole secret into a fresh pipe, closes the write end and returns the read end, which is
// close-on-exec (T07). A pipe and not a socket: Claude Code opens its descriptor again by path.
//
// shim.MaxToken bytes fit into every pipe of the usual size. The write end does not block: where a system that is short of
// pipe memory makes a smaller one, the launch fails instead of hanging.
func (s Secret) Pipe() (*os.File, error) {
	if s.Empty() {
		return nil, errEmpty
	}
	if len(s.Reveal()) > shim.MaxToken {
		return nil, errTooLarge(shim.MaxToken)
	}
	r, w, err := newPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	err = fill(w, s.Reveal())
	unix.Close(w)
	if err != nil {
		unix.Close(r)
		return nil, fmt.Errorf("write to pipe: %w", err)
	}
	return os.NewFile(uintptr(r), "token pipe"), nil
}

// fill writes b to w in one go or fails.
func fill(w int, b []byte) error {
	if err := unix.SetNonblock(w, true); err != nil {
		return err
	}
	for {
		n, err := unix.Write(w, b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n < len(b):
			return unix.ENOBUFS
		default:
			return nil
		}
	}
}
