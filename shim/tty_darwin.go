package shim

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// exclusive is 0: macOS does not tell.
func exclusive(int) int { return 0 }

// discipline is 0: macOS has line disciplines only in name.
func discipline(int) int { return 0 }

func setDiscipline(int, int) {}

// startOutput undoes a stop of the output, by ^S or by the target.
func startOutput(fd int) { unix.IoctlSetInt(fd, unix.TIOCSTART, 0) }

// mayRead is never asked: macOS has no process namespaces, so no group has the number 0.
func mayRead() bool { return false }
