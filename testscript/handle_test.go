package testscript

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// A handle is a named pipe, socket pair or terminal. A program gets its ends by 5<@name and 1>@name, the
// script keeps what it needs for send, recv and waitfor. An end that was handed on is closed in the script
// once the program has started, so that an end of file is seen when the program's own copy goes.
type handle struct {
	name     string
	kind     string // pipe, socket, tty
	keep     bool   // handed-on ends stay open until close
	open     map[int]bool
	child    map[byte]int // what < and > hand on
	from, to int          // what recv reads and send writes
	own      map[int]*os.File
	in       *stream
	fds      []int // under which numbers it was handed on in this phase, for writing
}

func (s *script) addHandle(kind string, c *call) error {
	keep := len(c.args) > 0 && c.args[0] == "-keep"
	if keep {
		c.args = c.args[1:]
	}
	if len(c.args) != 1 {
		return errUsage
	}
	name := c.args[0]
	if h := s.handles[name]; h != nil || s.procs[name] != nil {
		return fmt.Errorf("%q is taken", name)
	}
	h := &handle{name: name, kind: kind, keep: keep, own: map[int]*os.File{}}
	a, b, err := makeEnds(kind)
	if err != nil {
		return err
	}
	if kind == "pipe" {
		h.child, h.from, h.to = map[byte]int{'<': a, '>': b}, a, b
	} else {
		h.child, h.from, h.to = map[byte]int{'<': b, '>': b}, a, a
	}
	h.open = map[int]bool{a: true, b: true}
	s.handles[name] = h
	return nil
}

// makeEnds: a pipe's read and write end; of the others the script's end and the program's. All are closed
// across exec, and blocking, as a program expects them.
func makeEnds(kind string) (a, b int, err error) {
	var p [2]int
	if kind == "tty" {
		return openTerminal(24, 80)
	}
	betweenStarts(func() {
		if kind == "socket" {
			p, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		} else {
			err = syscall.Pipe(p[:])
		}
		if err == nil {
			syscall.CloseOnExec(p[0])
			syscall.CloseOnExec(p[1])
		}
	})
	return p[0], p[1], err
}

// starts is held while a program is on its way from fork to exec, where it has a copy of every descriptor.
// (syscall.ForkLock is let go earlier: Linux wakes a vfork's parent before it closes the child's copies.)
var starts sync.RWMutex

// betweenStarts makes or closes an end: one that was closed during a start would not be closed everywhere.
func betweenStarts(do func()) {
	starts.RLock()
	defer starts.RUnlock()
	do()
}

// give is the end that a redirect hands on.
func (h *handle) give(direction byte) (int, error) {
	fd := h.child[direction]
	if !h.open[fd] {
		return -1, fmt.Errorf("%q: this end is closed, or was handed on before (see -keep)", h.name)
	}
	if h.own[fd] != nil {
		return -1, fmt.Errorf("%q: the script itself uses this end", h.name)
	}
	return fd, nil
}

func (h *handle) gave(direction byte) {
	if fd := h.child[direction]; !h.keep && h.open[fd] {
		betweenStarts(func() { syscall.Close(fd) })
		h.open[fd] = false
	}
}

// mine is an end as the script uses it.
func (h *handle) mine(fd int) (*os.File, error) {
	if f := h.own[fd]; f != nil {
		return f, nil
	}
	if !h.open[fd] {
		return nil, fmt.Errorf("%q: this end is closed, or was handed on", h.name)
	}
	f, err := ownEnd(fd)
	if err == nil {
		h.own[fd] = f
	}
	return f, err
}

// reader is what arrives; asking for it begins the reading. Until then nobody reads, and a pipe may fill.
func (h *handle) reader() (*stream, error) {
	if h.in == nil {
		f, err := h.mine(h.from)
		if err != nil {
			return nil, err
		}
		h.in = newStream(f, h.from)
	}
	return h.in, nil
}

func (h *handle) close() {
	for fd, open := range h.open {
		if !open {
			continue
		}
		betweenStarts(func() {
			switch f := h.own[fd]; {
			case h.in != nil && fd == h.from:
				h.in.close()
			case f != nil:
				f.Close()
			default:
				syscall.Close(fd)
			}
		})
		h.open[fd] = false
	}
}

func (s *script) closeHandles() {
	for _, h := range s.handles {
		h.close()
	}
	for _, p := range s.started {
		p.out.close()
		if p.err != nil {
			p.err.close()
		}
	}
}

func (s *script) handle(name string) (*handle, error) {
	if h := s.handles[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("no pipe, socket or terminal %q", name)
}

// cmdRecv reads a pipe or socket to its end, into a file.
func cmdRecv(s *script, c *call) error {
	if len(c.args) != 2 {
		return errUsage
	}
	h, err := s.handle(c.args[0])
	if err != nil {
		return err
	}
	in, err := h.reader()
	if err != nil {
		return err
	}
	if err := s.poll(func() (bool, error) { return in.ended(), nil }); err != nil {
		return fmt.Errorf("%w: no end of file on %q, which somebody still holds open", err, c.args[0])
	}
	return os.WriteFile(s.abs(c.args[1]), []byte(in.text()), 0o644)
}

func cmdClose(s *script, c *call) error {
	if len(c.args) != 1 {
		return errUsage
	}
	h, err := s.handle(c.args[0])
	if err == nil {
		h.close()
	}
	return err
}

func cmdNonblock(s *script, c *call) error {
	if len(c.args) != 1 {
		return errUsage
	}
	h, err := s.handle(c.args[0])
	if err != nil {
		return err
	}
	for _, fd := range h.child {
		if h.open[fd] {
			if err := syscall.SetNonblock(fd, true); err != nil {
				return err
			}
		}
	}
	return nil
}
