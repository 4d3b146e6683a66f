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
	name     string // in the background
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

func cmdExec(s *script, c *call) error { return s.exec(c, launch{uid: -1}) }
func cmdPty(s *script, c *call) error  { return s.exec(c, launch{uid: -1, terminal: true}) }

func cmdAs(s *script, c *call) error {
	if len(c.words) < 2 {
		return errUsage
	}
	text, err := s.expand(c.words[0], false)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(text)
	name := c.words[1].bare()
	if err != nil || name != "exec" && name != "pty" {
		return errUsage
	}
	c.words = c.words[2:]
	return s.exec(c, launch{uid, name == "pty"})
}

var background = regexp.MustCompile(`^&(\w+)&$`)

func (s *script) exec(c *call, how launch) error {
	p := &proc{neg: c.neg, done: make(chan struct{})}
	if n := len(c.words); n > 0 {
		if m := background.FindStringSubmatch(c.words[n-1].bare()); m != nil {
			p.name, c.words = m[1], c.words[:n-1]
		}
	}
	if p.name != "" && (s.procs[p.name] != nil || s.handles[p.name] != nil) {
		return fmt.Errorf("%q is taken", p.name)
	}
	if err := s.startWords(p, c.words, how); err != nil {
		return err
	}
	s.started = append(s.started, p)
	go p.reap()
	if p.name != "" {
		s.procs[p.name] = p
		return nil
	}
	return s.finish(p)
}

// startWords starts what redirects and words say. Its descriptors are closed here right after: what the
// program closes or leaves is closed.
func (s *script) startWords(p *proc, words []word, how launch) (err error) {
	t := newTable()
	defer func() { t.done(err == nil) }()
	if err := s.standard(p, t, how); err != nil {
		return err
	}
	words, err = s.redirects(t, words)
	if err != nil {
		return err
	}
	var argv []string
	for _, w := range words {
		arg, err := s.expand(w, false)
		if err != nil {
			return err
		}
		argv = append(argv, arg)
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
		n := slices.Index(t.fds, t.terminal)
		if n < 0 {
			return errors.New("0, 1 and 2 are all redirected: no descriptor is the terminal")
		}
		attr.Sys.Setpgid, attr.Sys.Setsid, attr.Sys.Setctty, attr.Sys.Ctty = false, true, true, n
	}
	s.checkArguments(argv, attr.Env)
	starts.Lock()
	defer starts.Unlock()
	if p.pid, _, err = syscall.StartProcess(path, argv, attr); err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	return nil
}

func (p *proc) reap() {
	for {
		if _, err := syscall.Wait4(p.pid, &p.status.wait, 0, nil); err != syscall.EINTR {
			break
		}
	}
	p.status.known = true
	close(p.done)
}

// standard gives 0, 1 and 2 what they are without a redirect: a terminal, or else /dev/null or what `stdin`
// said, and two pipes into the script.
func (s *script) standard(p *proc, t *table, how launch) error {
	if how.terminal {
		return s.onTerminal(p, t, how)
	}
	data, fed := s.stdin, s.fed
	s.stdin, s.fed = nil, false
	if fed {
		if err := feed(t, data); err != nil {
			return err
		}
	} else {
		fd, err := t.open(os.DevNull, syscall.O_RDONLY)
		if err != nil {
			return err
		}
		t.fds[0] = fd
	}
	for n, st := range map[int]**stream{1: &p.out, 2: &p.err} {
		r, w, err := makeEnds("pipe")
		if err != nil {
			return err
		}
		f, err := ownEnd(r)
		if err != nil {
			return err
		}
		*st = newStream(f, r)
		t.opened = append(t.opened, w)
		t.fds[n] = uintptr(w)
	}
	return nil
}

func feed(t *table, data []byte) error {
	r, w, err := makeEnds("pipe")
	if err != nil {
		return err
	}
	f, err := ownEnd(w)
	if err != nil {
		return err
	}
	t.opened = append(t.opened, r)
	t.fds[0] = uintptr(r)
	go func() { // ends when all is read, or when nobody is left to read it
		f.Write(data)
		betweenStarts(func() { f.Close() })
	}()
	return nil
}

// onTerminal makes a terminal of the program's own: it becomes leader of a new session there, in the
// foreground, as after a login.
func (s *script) onTerminal(p *proc, t *table, how launch) error {
	if s.fed {
		return errors.New("stdin was fed, but 0 is a terminal: type with send")
	}
	master, slave, err := openTerminal(24, 80)
	if err != nil {
		return err
	}
	t.opened = append(t.opened, slave)
	t.terminal = uintptr(slave)
	p.terminal = &handle{kind: "tty", from: master, to: master, own: map[int]*os.File{}, open: map[int]bool{master: true}}
	if p.out, err = p.terminal.reader(); err != nil {
		return err
	}
	t.fds[0], t.fds[1], t.fds[2] = t.terminal, t.terminal, t.terminal
	if how.uid >= 0 {
		return syscall.Fchown(slave, how.uid, -1)
	}
	return nil
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
	return "", fmt.Errorf("program %q is not in PATH%s", name, buildNotes[name])
}

func (s *script) environ() []string {
	var env []string
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
