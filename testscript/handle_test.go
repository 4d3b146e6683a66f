package testscript

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An end is one descriptor of a pipe, socket pair or terminal, or of a file that a program is to get. It is blocking, as a
// program expects it, until the script itself uses it.
type end struct {
	fd     int
	file   *os.File // once the script itself uses it
	closed bool
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

// makeEnds makes a pipe's read and write end, or the script's end and the program's. All are closed across exec.
func makeEnds(kind string) (a, b *end, err error) {
	var p [2]int
	switch kind {
	case "tty":
		if p, err = openTerminal(); err == nil {
			err = resizeTerminal(p[1], 24, 80)
		}
	default:
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
	}
	return &end{fd: p[0]}, &end{fd: p[1]}, err
}

// own gives the script this end, non-blocking from now on.
func (e *end) own() (*os.File, error) {
	if e.closed {
		return nil, errors.New("this end is closed, or was handed on")
	}
	if e.file == nil {
		if err := syscall.SetNonblock(e.fd, true); err != nil {
			return nil, err
		}
		e.file = os.NewFile(uintptr(e.fd), "end")
	}
	return e.file, nil
}

func (e *end) close() {
	if e.closed {
		return
	}
	e.closed = true
	betweenStarts(func() {
		if e.file != nil {
			e.file.Close()
		} else {
			syscall.Close(e.fd)
		}
	})
}

// A handle is a named pipe, socket pair or terminal. A program gets its ends by 5<@name and 1>@name; the script keeps what
// it needs for send, recv and waitfor. An end that was handed on is closed in the script once the program has started, so
// that an end of file is seen when the program's own copy goes.
type handle struct {
	kind     string        // pipe, socket, tty
	keep     bool          // handed-on ends stay open until close
	program  map[byte]*end // what < and > hand on
	from, to *end          // what recv reads and send writes
	in       *stream
	numbers  []int // under which it was handed on in this phase, for writing
}

func newHandle(kind string) (*handle, error) {
	a, b, err := makeEnds(kind)
	if err != nil {
		return nil, err
	}
	if kind == "pipe" {
		return &handle{kind: kind, program: map[byte]*end{'<': a, '>': b}, from: a, to: b}, nil
	}
	return &handle{kind: kind, program: map[byte]*end{'<': b, '>': b}, from: a, to: a}, nil
}

func (s *script) closeHandles() {
	for _, h := range s.handles {
		h.close()
	}
	for _, p := range s.started {
		for _, st := range []*stream{p.out, p.err} {
			if st != nil {
				st.close()
			}
		}
	}
}

func (s *script) addHandle(kind string, c *call) error {
	keep := c.flag("-keep")
	name := c.args[0]
	if s.handles[name] != nil || s.procs[name] != nil {
		return fmt.Errorf("%q is taken", name)
	}
	h, err := newHandle(kind)
	if err != nil {
		return err
	}
	h.keep = keep
	s.handles[name] = h
	return nil
}

// reader is what arrives; asking for it begins the reading. Until then nobody reads, and a pipe may fill.
func (h *handle) reader() (*stream, error) {
	if h.in == nil {
		f, err := h.from.own()
		if err != nil {
			return nil, err
		}
		h.in = newStream(f)
	}
	return h.in, nil
}

func (h *handle) close() {
	if h.in != nil {
		h.in.close()
		h.from.closed = true
	}
	for _, e := range []*end{h.from, h.to, h.program['<'], h.program['>']} {
		e.close()
	}
}

// handle finds a pipe, socket or terminal, a program's own terminal included.
func (s *script) handle(name string) (*handle, error) {
	if p := s.procs[name]; p != nil && p.terminal != nil {
		return p.terminal, nil
	}
	if h := s.handles[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("no pipe, socket or terminal %q", name)
}

// cmdRecv reads a pipe or socket to its end, into a file.
func cmdRecv(s *script, c *call) error {
	h, err := s.handle(c.args[0])
	if err != nil {
		return err
	}
	in, err := h.reader()
	if err != nil {
		return fmt.Errorf("%q: %w", c.args[0], err)
	}
	if err := s.poll(func() (bool, error) { return in.ended(), nil }); err != nil {
		return fmt.Errorf("%w: no end of file on %q, which somebody still holds open", err, c.args[0])
	}
	return os.WriteFile(s.abs(c.args[1]), []byte(in.text()), 0o644)
}

func cmdClose(s *script, c *call) error {
	h, err := s.handle(c.args[0])
	if err == nil {
		h.close()
	}
	return err
}

func cmdNonblock(s *script, c *call) error {
	h, err := s.handle(c.args[0])
	if err != nil {
		return err
	}
	for _, e := range h.program {
		if !e.closed {
			err = errors.Join(err, syscall.SetNonblock(e.fd, true))
		}
	}
	return err
}

// cmdResize gives a terminal another size. Its foreground group is told by WINCH.
func cmdResize(s *script, c *call) error {
	h, err := s.handle(c.args[0])
	if err != nil {
		return err
	}
	cols, err1 := strconv.ParseUint(c.args[1], 10, 16)
	rows, err2 := strconv.ParseUint(c.args[2], 10, 16)
	if err1 != nil || err2 != nil {
		return errUsage
	}
	return resizeTerminal(h.from.fd, uint16(rows), uint16(cols))
}

func resizeTerminal(fd int, rows, cols uint16) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
}

// cmdSend writes a file into a pipe or socket and closes it, or types text into a terminal.
func cmdSend(s *script, c *call) error {
	open := c.flag("-open")
	name := c.args[0]
	h, err := s.handle(name)
	if err != nil {
		return err
	}
	var data []byte
	if h.kind == "tty" {
		data, open = typed(strings.Join(c.args[1:], " ")), true
	} else if data, err = os.ReadFile(s.abs(c.args[1])); err != nil {
		return err
	}
	f, err := h.to.own()
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	f.SetWriteDeadline(time.Now().Add(s.timeout))
	_, err = f.Write(data)
	switch {
	case c.neg == '!':
		return s.sendFails(f)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: nobody reads %q", errTimeout, name)
	case err != nil || open:
		return err
	case h.kind == "socket":
		return syscall.Shutdown(h.to.fd, syscall.SHUT_WR)
	}
	h.to.close()
	return nil
}

// sendFails waits until nobody can read any more.
func (s *script) sendFails(f *os.File) error {
	err := s.poll(func() (bool, error) {
		_, err := f.Write([]byte("\n"))
		return errors.Is(err, syscall.EPIPE), nil
	})
	if err != nil {
		return fmt.Errorf("%w: the other end is open", err)
	}
	s.positive = true
	return nil
}

// typed gives text its control characters: \r \n \t \e \\, and ^C for what the Control key makes of C.
func typed(text string) []byte {
	var b []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		if more := i+1 < len(text); more && c == '^' {
			i++
			c = text[i] & 0x1f
		} else if more && c == '\\' {
			i++
			c = text[i]
			if at := strings.IndexByte("rnte", c); at >= 0 {
				c = "\r\n\t\x1b"[at]
			}
		}
		b = append(b, c)
	}
	return b
}
