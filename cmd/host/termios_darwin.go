package main

import "golang.org/x/sys/unix"

const (
	getTermios  = unix.TIOCGETA
	setTermios  = unix.TIOCSETA
	noCharacter = 0xff // of the terminal's control characters: this one is off
)

func flushInput(fd int) {
	const reads = 1 // FREAD
	unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, reads)
}
