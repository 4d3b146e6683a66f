package shim

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is what the shim knows of the terminal it was started from.
type terminal struct {
	fd    int  // the terminal whose foreground the target gets; -1: it gets none
	share bool // a pipeline: the target stays in the shim's process group (S18)
	hand  bool // started by a person: the shim's group had its terminal's foreground
	given bool // the target's group has the foreground now
}

// becomeLeader makes descriptor 0 the controlling terminal of a session of the shim's own (S13), or finds out
// how the shim stands to the terminal it was started from.
func (l *launch) becomeLeader() error {
	l.term = terminal{fd: -1}
	if !l.pty {
		l.term.look()
		return nil
	}
	if _, err := unix.IoctlGetTermios(0, getTermios); err != nil {
		return &usageError{"--pty: fd 0 is not a terminal", "open a terminal pair and start the shim with its slave on 0, 1 and 2"}
	}
	if _, err := unix.Setsid(); err != nil {
		return &usageError{"--pty: setsid: " + err.Error(), "the shim must not be a process-group leader: do not start it as a job of an interactive shell"}
	}
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		return &usageError{"--pty: fd 0 cannot become the controlling terminal: " + err.Error(), "it must not be the terminal of another session"}
	}
	l.term.fd = 0
	return nil
}

// look asks each standard descriptor for the foreground group of its terminal: only the controlling terminal
// answers, so an answer that is the shim's own group means a person is waiting in front of it.
func (t *terminal) look() {
	own := unix.Getpgrp()
	var mine [3]bool
	for fd := range mine {
		pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		mine[fd] = err == nil && pgrp == own
	}
	t.hand = mine[0] || mine[1] || mine[2]
	t.share = mine[0] != mine[1]
	if mine[0] && mine[1] {
		t.fd = 0
	}
}

// arrange says in which process group, and in whose foreground, the target starts.
func (t *terminal) arrange(attr *syscall.SysProcAttr) {
	attr.Setpgid = !t.share
	if t.fd >= 0 {
		attr.Foreground, attr.Ctty = true, t.fd
	}
}

// ready follows the target's start. From now on the shim may set the foreground from the background, which
// only a process that ignores SIGTTOU may; it is ignored now, since the target would have inherited it before.
func (t *terminal) ready() {
	if t.fd >= 0 {
		t.given = true
		signal.Ignore(syscall.SIGTTOU)
	}
}

// give hands the foreground to group if the shim's own group has it.
func (t *terminal) give(group int) bool {
	if t.fd < 0 || !t.inFront() {
		return false
	}
	t.given = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) == nil
	return t.given
}

// takeBack returns the foreground to the shim's own group, and so to the shell that started it. A foreground
// that the shell has taken meanwhile stays where it is.
func (t *terminal) takeBack() {
	if t.given {
		t.given = false
		unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp())
	}
}

// inFront says whether the shim's own group has its terminal's foreground.
func (t *terminal) inFront() bool {
	for fd := range 3 {
		if pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return pgrp == unix.Getpgrp()
		}
	}
	return false
}
