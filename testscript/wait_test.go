package testscript

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A status is what a program left. The zero value is none.
type status struct {
	known bool
	syscall.WaitStatus
}

func (st status) code() int {
	if st.Signaled() {
		return 128 + int(st.Signal())
	}
	return st.ExitStatus()
}

func (st status) String() string {
	if st.Signaled() {
		return fmt.Sprintf("exit status %d (%v)", st.code(), unix.SignalName(st.Signal()))
	}
	return fmt.Sprintf("exit status %d", st.code())
}

func signalNumber(name string) (syscall.Signal, error) {
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG"))
	if sig == 0 {
		return 0, fmt.Errorf("unknown signal %q", name)
	}
	return sig, nil
}

func cmdWait(s *script, c *call) error {
	names := c.args
	if len(names) == 0 {
		for _, p := range s.started { // in the order in which they were started
			for name, q := range s.procs {
				if p == q {
					names = append(names, name)
				}
			}
		}
	}
	for _, name := range names {
		p := s.procs[name]
		if p == nil {
			return fmt.Errorf("no background program %q", name)
		}
		err := s.finish(p)
		delete(s.procs, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// cmdExit compares the last program's status: a number as a shell would say it, or a signal's name.
func cmdExit(s *script, c *call) error {
	if !s.status.known {
		return errors.New("no program has ended")
	}
	if want, err := strconv.Atoi(c.args[0]); err == nil {
		if s.status.code() != want {
			return fmt.Errorf("%v, want %d", s.status, want)
		}
	} else if sig, err := signalNumber(c.args[0]); err != nil {
		return err
	} else if !s.status.Signaled() || s.status.Signal() != sig {
		return fmt.Errorf("%v, want signal %s", s.status, c.args[0])
	}
	s.positive = true
	return nil
}

// finish waits for a program and takes its output and status as the last ones.
func (s *script) finish(p *proc) error {
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	var late error
	select {
	case <-p.done:
	case <-timer.C:
		late = fmt.Errorf("%w after %v", errTimeout, s.timeout)
		s.killTree(p)
	}
	s.stdout, s.stderr, s.status = p.out.text(), "", p.status
	if p.err == nil {
		s.stdout = screen(s.stdout)
	} else {
		s.stderr = p.err.text()
	}
	s.logOutput()
	switch code := s.status.code(); {
	case late != nil:
		return late
	case p.neg == 0 && code != 0:
		return fmt.Errorf("%v, want 0", s.status)
	case p.neg == '!' && code == 0:
		return errors.New("exit status 0, want another")
	}
	return nil
}

// cmdKill signals a background program, with -g its process group, or any process of the script's by number.
func cmdKill(s *script, c *call) (err error) {
	sig, group, who := syscall.SIGTERM, 1, c.args[len(c.args)-1]
	for _, flag := range c.args[:len(c.args)-1] {
		if flag == "-g" {
			group = -1
		} else if sig, err = signalNumber(strings.TrimPrefix(flag, "-")); err != nil {
			return err
		}
	}
	pid, err := s.pid(who)
	if err != nil {
		return err
	}
	return syscall.Kill(group*pid, sig)
}

// pid finds a live process of the script's, and of nobody else's, by the name of a background program or by number.
func (s *script) pid(who string) (int, error) {
	if p := s.procs[who]; p != nil {
		if p.ended() {
			return 0, fmt.Errorf("%q has ended", who)
		}
		return p.pid, nil
	}
	pid, err := strconv.Atoi(who)
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("no background program %q", who)
	}
	if !slices.ContainsFunc(s.ownProcesses(), func(q process) bool { return q.pid == pid }) {
		return 0, fmt.Errorf("process %d is not one of this script's", pid)
	}
	return pid, nil
}

// roots are the started programs that are not reaped: their numbers cannot have passed to somebody else.
func (s *script) roots() map[int]bool {
	roots := map[int]bool{}
	for _, p := range s.started {
		if !p.ended() {
			roots[p.pid] = true
		}
	}
	return roots
}

// killTree ends a program that overran its time, with what it started.
func (s *script) killTree(p *proc) {
	tree := s.ownProcesses()
	syscall.Kill(p.pid, syscall.SIGKILL) // first: it is not to see its children end
	for _, q := range tree {
		if q.root == p.pid && q.pid != p.pid {
			syscall.Kill(q.pid, syscall.SIGKILL)
		}
	}
	<-p.done
}

// endProcesses ends what the script left running: its programs, what they started, and what ran away from them but still
// carries the script's $WORK.
func (s *script) endProcesses() {
	for range 20 {
		left := s.ownProcesses()
		for _, q := range left {
			s.checkText("the arguments of a live process", []byte(q.args))
			s.checkText("the environment of a live process", q.environ)
			syscall.Kill(q.pid, syscall.SIGKILL)
		}
		for _, p := range s.started {
			if p.terminal != nil {
				p.out.text() // what is on its way, before the terminal goes
				p.terminal.close()
			}
			<-p.done
		}
		if len(left) == 0 {
			return
		}
	}
}

// cmdProcs lists the script's live processes, one a line, as the last output: pid, state, arguments.
func cmdProcs(s *script, c *call) error {
	list := s.ownProcesses()
	slices.SortFunc(list, func(a, b process) int { return a.pid - b.pid })
	var text strings.Builder
	for _, q := range list {
		fmt.Fprintf(&text, "%d %c %s\n", q.pid, q.state, q.args)
	}
	s.printed(text.String())
	return nil
}
