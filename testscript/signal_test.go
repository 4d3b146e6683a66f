package testscript

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "PIPE": syscall.SIGPIPE, "TERM": syscall.SIGTERM,
	"CHLD": syscall.SIGCHLD, "CONT": syscall.SIGCONT, "STOP": syscall.SIGSTOP, "TSTP": syscall.SIGTSTP,
	"TTIN": syscall.SIGTTIN, "TTOU": syscall.SIGTTOU, "WINCH": syscall.SIGWINCH, "ABRT": syscall.SIGABRT,
	"ALRM": syscall.SIGALRM, "SEGV": syscall.SIGSEGV,
}

func signalNumber(name string) (syscall.Signal, error) {
	sig, ok := signals[strings.TrimPrefix(name, "SIG")]
	if !ok {
		return 0, fmt.Errorf("unknown signal %q", name)
	}
	return sig, nil
}

func signalName(sig syscall.Signal) string {
	for name, s := range signals {
		if s == sig {
			return "SIG" + name
		}
	}
	return sig.String()
}

// cmdKill signals a background program, with -g its process group, or any process of the script's by number.
func cmdKill(s *script, c *call) error {
	args, sig, group := c.args, syscall.SIGTERM, false
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-g" {
			group = true
		} else {
			var err error
			if sig, err = signalNumber(args[0][1:]); err != nil {
				return err
			}
		}
		args = args[1:]
	}
	if len(args) != 1 {
		return errUsage
	}
	pid, err := s.pid(args[0])
	if err != nil {
		return err
	}
	if group {
		pid = -pid
	}
	return syscall.Kill(pid, sig)
}

// pid finds a live process of the script's, and of nobody else's, by the name of a background program or by
// number.
func (s *script) pid(who string) (int, error) {
	if p := s.procs[who]; p != nil {
		select {
		case <-p.done:
			return 0, fmt.Errorf("%q has ended", who)
		default:
			return p.pid, nil
		}
	}
	pid, err := strconv.Atoi(who)
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("no background program %q", who)
	}
	for _, q := range s.ownProcesses() {
		if q.pid == pid {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d is not one of this script's", pid)
}

// roots are the started programs that are not reaped: their numbers cannot have passed to somebody else.
func (s *script) roots() map[int]bool {
	roots := map[int]bool{}
	for _, p := range s.started {
		select {
		case <-p.done:
		default:
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

// endProcesses ends what the script left running: its programs, what they started, and what ran away from
// them but still carries the script's $WORK.
func (s *script) endProcesses() {
	for round := 0; round < 20; round++ {
		left := s.ownProcesses()
		for _, q := range left {
			s.checkProcess(q)
			syscall.Kill(q.pid, syscall.SIGKILL)
		}
		for _, p := range s.started {
			if p.terminal != nil {
				p.out.text()
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
	sort.Slice(list, func(i, j int) bool { return list[i].pid < list[j].pid })
	var text strings.Builder
	for _, q := range list {
		fmt.Fprintf(&text, "%d %c %s\n", q.pid, q.state, q.args)
	}
	s.printed(text.String())
	return nil
}

// cmdResize gives a terminal another size, which its foreground group hears of by WINCH.
func cmdResize(s *script, c *call) error {
	if len(c.args) != 3 {
		return errUsage
	}
	h := s.handles[c.args[0]]
	if p := s.procs[c.args[0]]; p != nil {
		h = p.terminal
	}
	cols, err1 := strconv.ParseUint(c.args[1], 10, 16)
	rows, err2 := strconv.ParseUint(c.args[2], 10, 16)
	if err1 != nil || err2 != nil {
		return errUsage
	}
	if h == nil || h.kind != "tty" {
		return fmt.Errorf("no terminal %q", c.args[0])
	}
	return resizeTerminal(h.from, uint16(rows), uint16(cols))
}
