package shim

import (
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A program that a signal ends cannot put its terminal back. The shell does that when a job of its own dies by a signal,
// but it sees the shim exit by itself. So the shim restores the terminal (S22).

// terminalState is what a program can change about a terminal, as the shim found it.
type terminalState struct {
	termios    *unix.Termios
	exclusive  int // 0: others can open the terminal
	discipline int
}

// works is the descriptor of the terminal that the target draws on, -1 if it has none to itself. In a pipeline only the
// last member has: after another one, the terminal may be in use by a pager that still runs.
func (t *terminal) works() int {
	switch {
	case !t.byHand:
		return -1 // nobody's shell is behind, or the terminal was made for this session (--pty)
	case t.fd >= 0:
		return t.fd
	}
	if _, err := unix.IoctlGetInt(1, unix.TIOCGPGRP); err != nil {
		return -1
	}
	return 1
}

// save notes the terminal's state before the target first gets the foreground. In the background the state is the
// shell's own.
func (t *terminal) save() {
	fd := t.works()
	if t.before != nil || fd < 0 || !t.inFront() {
		return
	}
	termios, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return
	}
	t.before = &terminalState{termios: termios}
	t.before.exclusive, t.before.discipline = exclusive(fd), discipline(fd)
}

// emulatorReset ends the modes that a terminal emulator keeps and that no program can ask for, the keypad's too. Leaving the
// alternate screen moves the cursor to where it was saved. It is saved first, so that it stays in place where there was no
// alternate screen.
func emulatorReset() []byte {
	var b []byte
	put := func(modes []int, end byte) {
		for _, mode := range modes {
			b = append(strconv.AppendInt(append(b, "\x1b[?"...), int64(mode), 10), end)
		}
	}
	put(ModesOff, 'l')
	b = append(b, "\x1b>"...)
	put(ModesOn, 'h')
	b = append(b, "\x1b7"...)
	put(Screens, 'l')
	return b
}

// restore puts back what differs from the saved state, if the shim has the foreground. It never waits: the target may
// have stopped the terminal's output.
func (t *terminal) restore(kind string) {
	fd := t.works()
	if t.before == nil || fd < 0 || !t.inFront() {
		return
	}
	signal.Ignore(syscall.SIGTTOU) // the shell may take the foreground at any moment
	if discipline(fd) != t.before.discipline {
		setDiscipline(fd, t.before.discipline)
	}
	unix.IoctlSetTermios(fd, setTermios, t.before.termios)
	if t.before.exclusive == 0 {
		unix.IoctlSetInt(fd, unix.TIOCNXCL, 0)
	}
	startOutput(fd)
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if n, _ := unix.Poll(ready, 0); n == 1 && ready[0].Revents&unix.POLLOUT != 0 && kind != "" && kind != "dumb" {
		unix.Write(fd, emulatorReset())
	}
}
