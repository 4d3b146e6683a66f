package testscript

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A proc is a program that the script started.
type proc struct {
	neg      byte
	pid      int
	out, err *stream // err is nil on a terminal, where both are one
	terminal *handle
	done     chan struct{} // closed when it is reaped; then
	status   status
}

// How a program starts, beyond its words: as another user, on a terminal of its own.
type launch struct {
	uid      int // -1: as the engine
	terminal bool
}

func cmdAs(s *script, c *call) error {
	if len(c.words) < 2 {
		return errUsage
	}
	uid, err := strconv.Atoi(c.words[0].bare())
	name := c.words[1].bare()
	if err != nil || name != "exec" && name != "pty" {
		return errUsage
	}
	c.words = c.words[2:]
	return s.exec(c, launch{uid, name == "pty"})
}

var background = regexp.MustCompile(`^&(\w+)&$`)

func (s *script) exec(c *call, how launch) error {
	p, name := &proc{neg: c.neg, done: make(chan struct{})}, ""
	if n := len(c.words); n > 0 {
		if m := background.FindStringSubmatch(c.words[n-1].bare()); m != nil {
			name, c.words = m[1], c.words[:n-1]
		}
	}
	if s.procs[name] != nil || s.handles[name] != nil {
		return fmt.Errorf("%q is taken", name)
	}
	if err := s.startWords(p, c.words, how); err != nil {
		return err
	}
	s.started = append(s.started, p)
	go p.reap()
	if name == "" {
		return s.finish(p)
	}
	s.procs[name] = p
	return nil
}

func (p *proc) reap() {
	for {
		if _, err := syscall.Wait4(p.pid, &p.status.WaitStatus, 0, nil); err != syscall.EINTR {
			break
		}
	}
	p.status.known = true
	close(p.done)
}

func (p *proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// startWords starts what redirects and words say.
func (s *script) startWords(p *proc, words []word, how launch) (err error) {
	t := newTable()
	defer func() { t.done(err == nil) }()
	if err := s.standard(p, t, how); err != nil {
		return err
	}
	if words, err = s.redirects(t, words); err != nil {
		return err
	}
	argv, err := s.expandAll(words)
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		return errUsage
	}
	return s.start(p, t, argv, how)
}

// start starts the program with exactly the table's descriptors. The plain system-call package does it, not
// os/exec: 0, 1 and 2 can be closed, and a blocking descriptor stays one.
func (s *script) start(p *proc, t *table, argv []string, how launch) error {
	path, err := s.lookPath(argv[0])
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: s.dir, Env: s.environ(), Files: t.fds, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if how.uid >= 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(how.uid), Gid: uint32(how.uid)}
	}
	if how.terminal {
		n := slices.Index(t.fds, uintptr(p.terminal.program['<'].fd))
		if n < 0 {
			return errors.New("0, 1 and 2 are all redirected: no descriptor is the terminal")
		}
		attr.Sys.Setpgid, attr.Sys.Setsid, attr.Sys.Setctty, attr.Sys.Ctty = false, true, true, n
	}
	s.checkText("the arguments of "+argv[0], []byte(strings.Join(argv, "\x00")))
	s.checkText("the environment of "+argv[0], []byte(strings.Join(attr.Env, "\x00")))
	starts.Lock()
	defer starts.Unlock()
	if p.pid, _, err = syscall.StartProcess(path, argv, attr); err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	return nil
}

// standard gives 0, 1 and 2 what they are without a redirect: a terminal, or else /dev/null or what `stdin` said, and two
// pipes into the script.
func (s *script) standard(p *proc, t *table, how launch) (err error) {
	if how.terminal {
		return s.onTerminal(p, t, how)
	}
	if s.stdin == nil {
		err = t.open(0, os.DevNull, syscall.O_RDONLY)
	} else {
		err = t.feed(s.stdin)
		s.stdin = nil
	}
	if err == nil {
		p.out, err = t.collect(1)
	}
	if err == nil {
		p.err, err = t.collect(2)
	}
	return err
}

// onTerminal makes a terminal of the program's own: it becomes leader of a new session there, in the foreground, as after a
// login.
func (s *script) onTerminal(p *proc, t *table, how launch) (err error) {
	if s.stdin != nil {
		return errors.New("stdin was fed, but 0 is a terminal: type with send")
	}
	if p.terminal, err = newHandle("tty"); err != nil {
		return err
	}
	slave := p.terminal.program['<']
	t.opened = append(t.opened, slave)
	for n := range 3 {
		t.put(n, slave.fd)
	}
	if p.out, err = p.terminal.reader(); err == nil && how.uid >= 0 {
		err = syscall.Fchown(slave.fd, how.uid, -1)
	}
	return err
}

func (s *script) lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return s.abs(name), nil
	}
	for _, dir := range filepath.SplitList(s.env["PATH"]) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %q is not in PATH", name)
}

func (s *script) environ() []string {
	var env []string
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
