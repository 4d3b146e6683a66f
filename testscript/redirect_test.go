package testscript

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// closedFD is a number that is closed in the child, whatever the engine has under it.
const closedFD = ^uintptr(0)

var redirect = regexp.MustCompile(`^(\d*)(<>|>>|<|>)(.*)$`)

// A table is the descriptors of a program that is about to start.
type table struct {
	fds      []uintptr
	terminal uintptr  // the program's own, on pty
	opened   []int    // for this program only
	given    []func() // ends handed on, to be closed here once it has started
}

func newTable() *table {
	return &table{fds: []uintptr{closedFD, closedFD, closedFD}, terminal: closedFD}
}

func (t *table) put(n int, fd uintptr) {
	for len(t.fds) <= n {
		t.fds = append(t.fds, closedFD)
	}
	t.fds[n] = fd
}

// open opens a file for the program: closed across exec here, so that no other program started meanwhile gets it.
func (t *table) open(path string, flags int) (uintptr, error) {
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0o644)
	if err != nil {
		return closedFD, &os.PathError{Op: "open", Path: path, Err: err}
	}
	t.opened = append(t.opened, fd)
	return uintptr(fd), nil
}

// done closes in the engine what the program has, or was to have.
func (t *table) done(started bool) {
	for _, fd := range t.opened {
		betweenStarts(func() { syscall.Close(fd) })
	}
	for _, gave := range t.given {
		if started {
			gave()
		}
	}
}

// redirects takes the leading redirects off words. They are recognised before variables are replaced, and
// never in quotes: a value cannot become one.
func (s *script) redirects(t *table, words []word) ([]word, error) {
	for len(words) > 0 {
		if len(words[0]) == 0 || words[0][0].quoted {
			return words, nil
		}
		m := redirect.FindStringSubmatch(words[0][0].text)
		if m == nil {
			return words, nil
		}
		target := append(word{{m[3], false}}, words[0][1:]...)
		if err := s.redirect(t, m[1], m[2], target); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	return words, nil
}

func (s *script) redirect(t *table, number, op string, w word) error {
	n := 0
	if op[0] == '>' {
		n = 1
	}
	if number != "" {
		n, _ = strconv.Atoi(number)
	}
	if n > 255 {
		return fmt.Errorf("descriptor %d is over 255", n)
	}
	target, err := s.expand(w, false)
	switch {
	case err != nil:
		return err
	case target == "":
		return errors.New("a redirect's target follows it without a blank")
	case target == "-":
		t.put(n, closedFD)
		return nil
	case strings.HasPrefix(target, "&"):
		m, err := strconv.Atoi(target[1:])
		if err != nil || m >= len(t.fds) || t.fds[m] == closedFD {
			return fmt.Errorf("%q: no such descriptor", target)
		}
		t.put(n, t.fds[m])
		return nil
	case strings.HasPrefix(target, "@"):
		h, err := s.handle(target[1:])
		if err != nil {
			return err
		}
		fd, err := h.give(op[0])
		if err != nil {
			return err
		}
		t.put(n, uintptr(fd))
		t.given = append(t.given, func() { h.gave(op[0]) })
		if op[0] == '>' {
			h.fds = append(h.fds, n)
		}
		return nil
	}
	flags := map[string]int{
		"<": syscall.O_RDONLY, "<>": syscall.O_RDWR | syscall.O_CREAT,
		">":  syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC,
		">>": syscall.O_WRONLY | syscall.O_CREAT | syscall.O_APPEND,
	}[op]
	fd, err := t.open(s.abs(target), flags)
	if err == nil {
		t.put(n, fd)
	}
	return err
}
