package credential

import "golang.org/x/sys/unix"

// newPipe makes a pipe whose two ends no program started meanwhile inherits.
func newPipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}
