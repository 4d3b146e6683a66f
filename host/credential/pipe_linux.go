package credential

import "golang.org/x/sys/unix"

// newPipe makes a pipe. A program that is started at the same time does not inherit its ends.
func newPipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}
