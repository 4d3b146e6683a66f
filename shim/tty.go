package shim

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is what the shim knows of the terminal it was started from.
type terminal struct {
	fd    int  // the terminal that the target's own group works at; -1: none
	share bool // a pipeline: the target stays in the shim's process group (S18)
	hand  bool // started by a person
	given bool // the shim handed the foreground on
}

// becomeLeader makes descriptor 0 the controlling terminal of a session of the shim's own (S13), or finds out
// how the shim stands to the terminal it was started from.
func (l *launch) becomeLeader() error {
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

// look finds out who started the shim. Only the controlling terminal tells its foreground group, so a standard
// descriptor that tells it is the terminal of the shell which made the shim a job, in front or behind. With the
// terminal on 2 alone, a shim behind is a program's child rather than a pipeline's member. In front, a group of another
// process namespace, as that of a shim which unshare or nsenter started, is shared: it has the number 0 here, by which
// the terminal could not be given back to it.
func (t *terminal) look() {
	var own [3]bool
	for fd := range own {
		_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		own[fd] = err == nil
	}
	switch {
	case own[0] && own[1] && (unix.Getpgrp() != 0 || !t.inFront()):
		t.fd = 0
	case own[0] || own[1] || own[2] && t.inFront():
		t.share = true
	}
	t.hand = t.share || t.fd >= 0
}

// arrange says in which process group, and whether in the foreground, the target starts.
func (t *terminal) arrange(attr *syscall.SysProcAttr) {
	attr.Setpgid = !t.share
	if t.fd >= 0 && t.inFront() {
		attr.Foreground, attr.Ctty = true, t.fd
		t.given = true
	}
}

// ready follows the target's start. From now on the shim may set the foreground from the background, which
// only a process that ignores SIGTTOU may; it is ignored now, since the target would have inherited it before.
func (t *terminal) ready() {
	if t.fd >= 0 {
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

// takeBack returns the foreground that the shim handed on to the shim's own group, and so to the shell. A shell that
// has it already keeps it, also where the CONT that came with it has not been seen yet.
func (t *terminal) takeBack() {
	if !t.given {
		return
	}
	t.given = false
	if shell, err := unix.Getpgid(unix.Getppid()); err != nil || shell != t.foreground() {
		unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp())
	}
}

// inFront says whether the shim's own group has its terminal's foreground.
func (t *terminal) inFront() bool {
	if group := unix.Getpgrp(); group != 0 {
		return group == t.foreground()
	}
	return mayRead()
}

// foreground is the group in front of the controlling terminal, -1 if none of 0, 1 and 2 is that terminal.
func (t *terminal) foreground() int {
	for fd := range 3 {
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return group
		}
	}
	return -1
}
