package testscript

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// A status is what a program left. The zero value is none.
type status struct {
	known bool
	wait  syscall.WaitStatus
}

func (st status) code() int {
	if st.wait.Signaled() {
		return 128 + int(st.wait.Signal())
	}
	return st.wait.ExitStatus()
}

func (st status) String() string {
	if st.wait.Signaled() {
		return fmt.Sprintf("exit status %d (%v)", st.code(), signalName(st.wait.Signal()))
	}
	return fmt.Sprintf("exit status %d", st.code())
}

func cmdWait(s *script, c *call) error {
	names := c.args
	if len(names) == 0 {
		for _, p := range s.started {
			if p.name != "" && s.procs[p.name] == p {
				names = append(names, p.name)
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
	if len(c.args) != 1 {
		return errUsage
	}
	if !s.status.known {
		return errors.New("no program has ended")
	}
	want, err := strconv.Atoi(c.args[0])
	if err != nil {
		sig, err := signalNumber(c.args[0])
		if err != nil {
			return err
		}
		if !s.status.wait.Signaled() || s.status.wait.Signal() != sig {
			return fmt.Errorf("%v, want signal %s", s.status, c.args[0])
		}
	} else if s.status.code() != want {
		return fmt.Errorf("%v, want %d", s.status, want)
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
	if p.terminal != nil {
		s.stdout = screen(s.stdout)
	}
	if p.err != nil {
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
