package testscript

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
)

// closedFD is a number that is closed in the child, whatever the engine has under it.
const closedFD = ^uintptr(0)

// A table is the descriptors of a program that is about to start.
type table struct {
	fds    []uintptr
	opened []*end // for this program only
	given  []*end // handed on: closed here once it has started
}

func newTable() *table { return &table{fds: []uintptr{closedFD, closedFD, closedFD}} }

func (t *table) put(n, fd int) {
	for len(t.fds) <= n {
		t.fds = append(t.fds, closedFD)
	}
	t.fds[n] = uintptr(fd)
}

// open opens a file for the program: closed across exec here, so that no other program started meanwhile gets it.
func (t *table) open(n int, path string, flags int) error {
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0o644)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	t.opened = append(t.opened, &end{fd: fd})
	t.put(n, fd)
	return nil
}

// pipe gives the program one end of a new pipe, and the script the other.
func (t *table) pipe(n int) (*os.File, error) {
	r, w, err := makeEnds("pipe")
	if err != nil {
		return nil, err
	}
	theirs, mine := w, r
	if n == 0 {
		theirs, mine = r, w
	}
	t.opened = append(t.opened, theirs)
	t.put(n, theirs.fd)
	return mine.own()
}

func (t *table) collect(n int) (*stream, error) {
	f, err := t.pipe(n)
	if err != nil {
		return nil, err
	}
	return newStream(f), nil
}

func (t *table) feed(data []byte) error {
	f, err := t.pipe(0)
	if err != nil {
		return err
	}
	go func() { // ends when all is read, or when nobody is left to read it
		f.Write(data)
		betweenStarts(func() { f.Close() })
	}()
	return nil
}

// done closes in the engine what the program has, or was to have: what it closes or leaves is closed then.
func (t *table) done(started bool) {
	if started {
		t.opened = append(t.opened, t.given...)
	}
	for _, e := range t.opened {
		e.close()
	}
}

var redirect = regexp.MustCompile(`^(\d*)(<>|>>|<|>)(.*)$`)

// redirects takes the leading redirects off words. They are recognised before variables are replaced, and never in quotes:
// a value cannot become one.
func (s *script) redirects(t *table, words []word) ([]word, error) {
	for ; len(words) > 0 && len(words[0]) > 0 && !words[0][0].quoted; words = words[1:] {
		m := redirect.FindStringSubmatch(words[0][0].text)
		if m == nil {
			break
		}
		target, err := s.expand(append(word{{m[3], false}}, words[0][1:]...), false)
		if err != nil {
			return nil, err
		}
		n := 0
		if m[1] != "" {
			n, _ = strconv.Atoi(m[1])
		} else if m[2][0] == '>' {
			n = 1
		}
		if n > 255 {
			return nil, fmt.Errorf("descriptor %d is over 255", n)
		}
		if err := s.redirect(t, n, m[2], target); err != nil {
			return nil, err
		}
	}
	return words, nil
}

var openFlags = map[string]int{
	"<": syscall.O_RDONLY, "<>": syscall.O_RDWR | syscall.O_CREAT,
	">":  syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC,
	">>": syscall.O_WRONLY | syscall.O_CREAT | syscall.O_APPEND,
}

func (s *script) redirect(t *table, n int, op, target string) error {
	switch {
	case target == "":
		return errors.New("a redirect's target follows it without a blank")
	case target == "-":
		t.put(n, -1)
		return nil
	case target[0] == '&':
		m, err := strconv.Atoi(target[1:])
		if err != nil || m >= len(t.fds) || t.fds[m] == closedFD {
			return fmt.Errorf("%q: no such descriptor", target)
		}
		t.put(n, int(t.fds[m]))
		return nil
	case target[0] == '@':
		return s.handOn(t, n, op[0], target[1:])
	}
	return t.open(n, s.abs(target), openFlags[op])
}

// handOn gives the program an end of a pipe, socket or terminal.
func (s *script) handOn(t *table, n int, direction byte, name string) error {
	h, err := s.handle(name)
	if err != nil {
		return err
	}
	e := h.program[direction]
	if e.closed {
		return fmt.Errorf("%q: this end is closed, or was handed on before (see -keep)", name)
	}
	if e.file != nil {
		return fmt.Errorf("%q: the script itself uses this end", name)
	}
	t.put(n, e.fd)
	if !h.keep {
		t.given = append(t.given, e)
	}
	if direction == '>' {
		h.numbers = append(h.numbers, n)
	}
	return nil
}
