package shim

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that go to the target (S15).
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// waiting are those of them that wait for a target that does not run yet. Each of the others stops the launch then.
var waiting = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}

// signals are what the kernel tells the shim while it runs.
//
// Until there is a process to signal, the launch itself takes them from the channel. From then on passSignals does, while
// the main thread waits in the kernel for that process.
type signals struct {
	came chan os.Signal // the forwarded signals, and CONT: the shell resumed the job

	mu   sync.Mutex  // for what follows, and for what reads or changes the terminal while the target runs
	held []os.Signal // came before the target could take them
	runs bool        // the process is the target, no longer the second stage
	over bool        // the process has exited: once it is reaped, its number may be a stranger's
}

// catchSignals is the first step of a launch: from here on a signal stops the launch or reaches the target (S15).
func catchSignals() *signals {
	s := &signals{came: make(chan os.Signal, 32)}
	// signal.Notify waits for a thread of the runtime, once per signal. The main goroutine is locked to its thread, so
	// each wait costs it one thread switch more than another goroutine: 0.1 to 0.3 ms for all seven signals.
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		for _, sig := range forwarded {
			// A signal that the caller ignored (nohup) stays ignored, here and in the target (S17).
			if !signal.Ignored(sig) {
				signal.Notify(s.came, sig)
			}
		}
	}()
	<-ready
	return s
}

// holdOrStop handles a signal that comes before there is a process to pass it to.
func (l *launch) holdOrStop(sig os.Signal) error {
	if slices.Contains(waiting, sig) {
		l.signals.held = append(l.signals.held, sig)
		return nil
	}
	l.end.signal = sig.(syscall.Signal)
	return errStopped
}

// takePending handles the signals that have come by now. Every later one reaches the target.
func (l *launch) takePending() error {
	for {
		select {
		case sig := <-l.signals.came:
			if err := l.holdOrStop(sig); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// interruptible runs a step that waits for another process, and returns early when a signal stops the launch.
func (l *launch) interruptible(step func() error) error {
	done := make(chan error, 1)
	go func() { done <- step() }()
	for {
		select {
		case err := <-done:
			return err
		case sig := <-l.signals.came:
			if err := l.holdOrStop(sig); err != nil {
				return err
			}
		}
	}
}

// passSignals passes on every signal that comes once there is a process, for as long as the shim lives. Only the kernel
// knows whether the process is still the second stage or already the target: the signal goes to it, whichever it is.
func (l *launch) passSignals() {
	for sig := range l.signals.came {
		l.signals.mu.Lock()
		switch {
		case l.signals.over:
		case sig == unix.SIGCONT:
			l.resume()
		case !l.signals.runs && slices.Contains(waiting, sig):
			l.signals.held = append(l.signals.held, sig)
		default:
			l.forward(sig)
		}
		l.signals.mu.Unlock()
	}
}

// targetRuns passes on the signals that waited for the target, and reports it.
func (l *launch) targetRuns() {
	l.signals.mu.Lock()
	l.signals.runs = true
	for _, sig := range l.signals.held {
		l.forward(sig)
	}
	l.signals.mu.Unlock()
	l.status.send(event{name: EventStarted, pid: l.target.pid})
}

// wait follows the stops of the target until it has exited, then reaps it. It learns of the exit without reaping: until
// then no other process can have the target's number, so no signal reaches a stranger (S15).
//
// The main thread waits in the kernel, and not for a SIGCHLD: that would reach this goroutine by way of two other threads.
func (l *launch) wait() error {
	if l.term.fd >= 0 {
		signal.Notify(l.signals.came, syscall.SIGCONT)
	}
	for exited := false; !exited; {
		var stopped syscall.Signal
		exited, stopped = l.target.watch.next()
		l.signals.mu.Lock()
		if l.signals.over = exited; !exited {
			l.suspend(stopped)
		}
		l.signals.mu.Unlock()
	}
	if err := <-l.target.became; err != nil {
		return l.report(l.stageFailed(err))
	}
	l.reap()
	return nil
}

// forward sends sig to the target's process group. A target in the shim's own group gets it alone. The terminal sends
// its INT and QUIT to the whole group, so such a target has them already (S18).
func (l *launch) forward(sig os.Signal) {
	switch s := sig.(syscall.Signal); {
	case !l.term.shared:
		unix.Kill(-l.target.pid, s)
	case (s == unix.SIGINT || s == unix.SIGQUIT) && l.term.inFront():
	default:
		unix.Kill(l.target.pid, s)
	}
}

// suspend follows a target that stopped. The shim stops its own process group, which is the shell's job, and continues
// when the shell resumes the job. No shell can resume an orphaned group. The kernel ignores the stop there, and the
// target continues at once.
func (l *launch) suspend(by syscall.Signal) {
	if l.term.fd < 0 || (l.pty && by == unix.SIGSTOP) {
		return
	}
	// The shell's fg sends no signal to a job that is running. A target that was stopped for reading or writing may
	// therefore be the first sign that the job is in the foreground now.
	moved := (by == unix.SIGTTIN || by == unix.SIGTTOU) && l.term.inFront()
	if !moved {
		l.term.takeBack()
		unix.Kill(0, unix.SIGTSTP)
	}
	l.term.handOver(l.target.pid)
	unix.Kill(-l.target.pid, unix.SIGCONT)
}

// resume follows a CONT from the shell. It hands the terminal over if the job is in the foreground now. If the shell
// took the terminal, it is not the shim's to take back later.
func (l *launch) resume() {
	if l.term.foreground() == l.target.pid {
		return
	}
	if l.term.handedOver = l.term.handOver(l.target.pid); l.term.handedOver {
		unix.Kill(-l.target.pid, unix.SIGCONT)
	}
}

// reap takes the target's status, ends what a sandboxed target left running, and reports the exit.
func (l *launch) reap() {
	l.target.cmd.Wait()
	status := l.target.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if l.profile != "" {
		endDescendants(l.target.watch.callers)
	}
	if status.Signaled() {
		l.end.signal = status.Signal()
	} else {
		l.end.status = status.ExitStatus()
	}
	l.status.send(event{name: EventExit, status: l.end.status, signal: int(l.end.signal)})
}

// raiseTerminalSignal ends the shim by the terminal's ^C or ^\ if that ended the target. A script around the shim then
// ends too, as it would with the bare program (S18).
func (l *launch) raiseTerminalSignal() {
	sig := l.end.signal
	if l.term.byHand && (sig == unix.SIGINT || sig == unix.SIGQUIT) && !signal.Ignored(sig) && ByDefault(sig) {
		who := os.Getpid()
		if l.target != nil && !l.term.shared {
			who = 0 // the terminal signalled only the target's group, not the shim's
		}
		unix.Kill(who, sig)
	}
}
