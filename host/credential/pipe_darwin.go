package credential

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newPipe makes a pipe. A program that is started at the same time does not inherit its ends: macOS has no pipe2, so the lock
// holds every start back until both are marked.
func newPipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}
