package shim

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the terminal that the shim was started from.
type terminal struct {
	fd         int  // the terminal, if the target works at it in a process group of its own; else -1
	shared     bool // a pipeline: the target stays in the shim's process group (S18)
	byHand     bool // a person started the shim: fd is set or shared is true, and not by --pty
	handedOver bool // the target's group has the foreground, and the shim gave it
	before     *terminalState
}

// becomeLeader makes descriptor 0 the controlling terminal of a session of the shim's own (S13). Without --pty it only
// finds out which terminal the shim was started from.
func (l *launch) becomeLeader() error {
	if !l.pty {
		l.term.inspect()
		return nil
	}
	if _, err := unix.IoctlGetTermios(0, getTermios); err != nil {
		return usage("--pty: fd 0 is not a terminal", "open a terminal pair and start the shim with its slave on 0, 1 and 2")
	}
	if _, err := unix.Setsid(); err != nil {
		return usage("--pty: setsid: "+err.Error(), "the shim must not be a process-group leader: do not start it as a job of an interactive shell")
	}
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		return usage("--pty: fd 0 cannot become the controlling terminal: "+err.Error(), "it must not be the terminal of another session")
	}
	l.term.fd = 0
	return nil
}

// inspect finds out how the shim was started. Only the controlling terminal tells its foreground group, so a descriptor
// that answers is the terminal of the shell whose job the shim is.
//
// With the terminal on 2 alone, a shim in the background is some program's child and no member of a pipeline. A shim
// from another process namespace (unshare, nsenter) sees its own group as 0. It could not give the terminal back to
// group 0, so in the foreground it shares its group with the target.
func (t *terminal) inspect() {
	var own [3]bool
	for fd := range own {
		_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		own[fd] = err == nil
	}
	switch {
	case own[0] && own[1] && (unix.Getpgrp() != 0 || !t.inFront()):
		t.fd = 0
	case own[0] || own[1] || own[2] && t.inFront():
		t.shared = true
	}
	t.byHand = t.shared || t.fd >= 0
}

// prepare sets the process group that the target starts in, and whether it starts in the foreground.
func (t *terminal) prepare(attr *syscall.SysProcAttr) {
	attr.Setpgid = !t.shared
	t.save()
	if t.fd >= 0 && t.inFront() {
		attr.Foreground, attr.Ctty = true, t.fd
		t.handedOver = true
	}
}

// targetStarted lets the shim take the foreground back from the background, which needs SIGTTOU ignored. It is not
// ignored earlier, because the target would inherit that.
func (t *terminal) targetStarted() {
	if t.fd >= 0 {
		signal.Ignore(syscall.SIGTTOU)
	}
}

// handOver gives group the foreground if the shim's own group has it.
func (t *terminal) handOver(group int) bool {
	if t.fd < 0 || !t.inFront() {
		return false
	}
	t.save()
	t.handedOver = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) == nil
	return t.handedOver
}

// takeBack returns a foreground that the shim handed over to the shim's own group, and so to the shell. It does nothing
// if the shell has the foreground already. The shell's CONT may not have been seen yet in that case.
func (t *terminal) takeBack() {
	if !t.handedOver {
		return
	}
	t.handedOver = false
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

// foreground is the foreground group of the controlling terminal, -1 if none of 0, 1 and 2 is that terminal.
func (t *terminal) foreground() int {
	for fd := range 3 {
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return group
		}
	}
	return -1
}
