package shim

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that go to the target (S15).
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// signals are what the shim is told while it runs. Handlers stand before anything else of a launch, so that a
// signal either stops the launch or reaches the target (S15).
type signals struct {
	forward chan os.Signal // to the target
	child   chan os.Signal // a child changed state; one pending notice is enough, the state is then read
	resumed chan os.Signal // the shell resumed the job
	held    []os.Signal    // came before the target could take them
}

func catchSignals() *signals {
	s := &signals{make(chan os.Signal, 32), make(chan os.Signal, 1), make(chan os.Signal, 1), nil}
	// The runtime hands each signal to a thread of its own and back. That takes three changes of thread from the
	// main goroutine, which is bound to one, and two from any other: 0.1 to 0.3 ms for all eight.
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		for _, sig := range forwarded {
			// A signal that the caller had ignored (nohup) stays ignored, here and in the target (S17).
			if !signal.Ignored(sig) {
				signal.Notify(s.forward, sig)
			}
		}
		signal.Notify(s.child, syscall.SIGCHLD)
	}()
	<-ready
	return s
}

// childChanged says that a child changed state. It never waits: a notice that is still pending says the same, and its
// only reader may be the caller.
func (s *signals) childChanged() {
	select {
	case s.child <- syscall.SIGCHLD:
	default:
	}
}

// hold keeps a signal for the target, unless it is one that ends a program: then it stops the launch.
func (s *signals) hold(sig os.Signal) error {
	switch sig {
	case syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH:
		s.held = append(s.held, sig)
		return nil
	}
	return &stoppedError{sig.(syscall.Signal)}
}

// mayStart is the last look before the target starts: what comes later reaches the target.
func (s *signals) mayStart() error {
	for {
		select {
		case sig := <-s.forward:
			if err := s.hold(sig); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// interruptible runs a step that may wait for others, and gives it up when a signal stops the launch. Once there
// is a process, nobody but the kernel can tell whether it is the target yet: the signal goes to it.
func (l *launch) interruptible(step func() error) error {
	done := make(chan error, 1)
	go func() { done <- step() }()
	for {
		select {
		case err := <-done:
			return err
		case sig := <-l.signals.forward:
			switch err := l.signals.hold(sig); {
			case err == nil:
			case l.target == nil:
				return err
			default:
				l.forward(sig) // ends the second stage, or reaches what it has become
			}
		case <-l.signals.child:
			// ^Z can stop the second stage, which has the foreground already.
			if l.target != nil {
				if _, stopped := l.target.watch.state(); stopped != 0 {
					l.suspend(stopped)
				}
			}
		}
	}
}

// wait forwards signals until the target has ended, then reaps it. It learns of the end without reaping, so that
// no signal is ever sent to a process number that may be somebody else's by then (S15).
func (l *launch) wait() error {
	if l.term.fd >= 0 {
		signal.Notify(l.signals.resumed, syscall.SIGCONT)
	}
	for _, sig := range l.signals.held {
		l.forward(sig)
	}
	for {
		switch exited, stopped := l.target.watch.state(); {
		case exited:
			return l.reap()
		case stopped != 0:
			l.suspend(stopped)
		}
		select {
		case sig := <-l.signals.forward:
			l.forward(sig)
		case <-l.signals.resumed:
			l.resume()
		case <-l.signals.child:
		}
	}
}

// forward sends sig to the target's process group. A target that shares the shim's group gets it alone, and not
// at all if the terminal, which signals a whole group, has given it to the target already (S18).
func (l *launch) forward(sig os.Signal) {
	switch s := sig.(syscall.Signal); {
	case !l.term.share:
		unix.Kill(-l.target.pid, s)
	case (s == unix.SIGINT || s == unix.SIGQUIT) && l.term.inFront():
	default:
		unix.Kill(l.target.pid, s)
	}
}

// suspend follows a target that stopped: the shim stops its own process group, with all that the shell counts to
// the job, and goes on when the shell resumes it. In an orphaned group, which no shell could resume, the kernel
// does not stop anything, and the target goes on at once.
func (l *launch) suspend(by syscall.Signal) {
	if l.term.fd < 0 || (l.pty && by == unix.SIGSTOP) {
		return
	}
	// A shell's fg does not signal a job that runs: the target's read or write tells that it is in front by now.
	moved := (by == unix.SIGTTIN || by == unix.SIGTTOU) && l.term.inFront()
	if !moved {
		l.term.takeBack()
		unix.Kill(0, unix.SIGTSTP)
	}
	l.term.give(l.target.pid)
	unix.Kill(-l.target.pid, unix.SIGCONT)
}

// resume hands the terminal on when the shell has put the job in front, and forgets that it was handed on when
// the shell took it: then it is not the shim's to take back.
func (l *launch) resume() {
	if l.term.foreground() == l.target.pid {
		return
	}
	if l.term.given = l.term.give(l.target.pid); l.term.given {
		unix.Kill(-l.target.pid, unix.SIGCONT)
	}
}

func (l *launch) reap() error {
	l.target.cmd.Wait()
	status := l.target.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if l.profile != "" {
		endLeft(l.signals.child)
	}
	e := event{name: EventExit}
	if status.Signaled() {
		e.signal = int(status.Signal())
	} else {
		e.status = status.ExitStatus()
	}
	l.status.send(e)
	return &endedError{status}
}

// endAs is the exit status for a target that ran.
func (l *launch) endAs(status syscall.WaitStatus) int {
	if status.Signaled() {
		return l.endBy(status.Signal())
	}
	return status.ExitStatus()
}

// endBy is the exit status when a signal ended the target or the launch. If it was the terminal's ^C or ^\, the
// shim, and a script around it, end by that signal as they would have with the bare program (S18).
func (l *launch) endBy(sig syscall.Signal) int {
	if l.term.hand && (sig == unix.SIGINT || sig == unix.SIGQUIT) && !signal.Ignored(sig) && ByDefault(sig) {
		who := os.Getpid()
		if l.target != nil && !l.term.share {
			who = 0 // the terminal signalled the target's group alone
		}
		unix.Kill(who, sig)
	}
	return ExitSignal + int(sig)
}
