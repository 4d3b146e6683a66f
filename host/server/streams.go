package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"hostshim/host"
	"hostshim/host/wire"

	"golang.org/x/sys/unix"
)

// drainFor is how long the end of a session waits for the end of its output. What the target itself wrote is there
// by then; a process that it left behind may hold the other end open for ever.
const drainFor = 200 * time.Millisecond

// maxDrain is the most that is taken after that: more than a pipe or a terminal holds.
const maxDrain = 1 << 20

// inputWithin is how long input waits for a target that does not read.
const inputWithin = 10 * time.Second

var errNoTerminal = errors.New("the session has no terminal")

// streams are a session's standard streams: the child's ends, and the host's own.
type streams struct {
	child    host.Stdio
	in       *os.File // pty: the master, else the write end of standard input
	out, err *os.File // what is read; err is nil for a terminal

	pumps   sync.WaitGroup
	writing sync.Mutex // one input at a time
	eof     bool       // standard input was closed
}

// openStreams makes the streams for a kind of session (H07).
func openStreams(kind string, cols, rows int) (*streams, error) {
	s := &streams{}
	if kind == wire.KindPty {
		master, slave, err := openPty()
		if err != nil {
			return nil, err
		}
		s.in, s.out = master, master
		s.child = host.Stdio{In: slave, Out: slave, Err: slave, Terminal: true}
		if err := s.resize(cols, rows); err != nil {
			s.closeChild()
			s.close()
			return nil, err
		}
		return s, nil
	}
	s.child.Apart = true
	for _, p := range []struct {
		own, child **os.File
		input      bool
	}{{&s.in, &s.child.In, true}, {&s.out, &s.child.Out, false}, {&s.err, &s.child.Err, false}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.closeChild()
			s.close()
			return nil, fmt.Errorf("pipe: %w", err)
		}
		*p.own, *p.child = r, w
		if p.input {
			*p.own, *p.child = w, r
		}
		// Each end has a mode of its own, and a target expects a blocking one.
		syscall.SetNonblock(int((*p.child).Fd()), false)
	}
	return s, nil
}

// closeChild closes what only the child needs, once it has it.
func (s *streams) closeChild() {
	for _, f := range []*os.File{s.child.In, s.child.Out, s.child.Err} {
		if f != nil {
			f.Close() // the terminal's three are one: closing it again does nothing
		}
	}
}

func (s *streams) close() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		if f != nil {
			f.Close()
		}
	}
}

// pump copies f to w until the end of f, or what finish makes of it.
func (s *streams) pump(f *os.File, w io.Writer) {
	size := 4 << 10 // all that a terminal gives at once
	if !s.child.Terminal {
		size = 16 << 10
	}
	s.pumps.Go(func() {
		buf := make([]byte, size)
		for {
			n, err := f.Read(buf)
			w.Write(buf[:n])
			if errors.Is(err, os.ErrDeadlineExceeded) {
				takeRest(f, w, buf)
			}
			if err != nil {
				return
			}
		}
	})
}

// takeRest takes what is in f now, and waits for no more.
func takeRest(f *os.File, w io.Writer, buf []byte) {
	f.SetReadDeadline(time.Time{})
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	raw.Read(func(fd uintptr) bool {
		for left := maxDrain; left > 0; {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				break
			}
			w.Write(buf[:n])
			left -= n
		}
		return true
	})
}

// finish takes the last output of a session that has ended, and closes everything.
func (s *streams) finish() {
	for _, f := range []*os.File{s.out, s.err} {
		if f != nil {
			f.SetReadDeadline(time.Now().Add(drainFor))
		}
	}
	s.pumps.Wait()
	s.close()
}

// write gives the target input, which takes as long as the target takes to read, inputWithin at most.
func (s *streams) write(p []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.eof {
		return errors.New("standard input is closed")
	}
	s.in.SetWriteDeadline(time.Now().Add(inputWithin))
	n, err := s.in.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the target took %d of %d bytes within %v", n, len(p), inputWithin)
	}
	return err
}

// endInput closes the target's standard input; on a terminal it types the end-of-file character.
func (s *streams) endInput() error {
	if s.child.Terminal {
		return s.write([]byte{4})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.eof {
		return nil
	}
	s.eof = true
	return s.in.Close()
}

// resize sets the terminal's size; the kernel tells the target.
func (s *streams) resize(cols, rows int) error {
	if !s.child.Terminal {
		return errNoTerminal
	}
	raw, err := s.in.SyscallConn()
	if err != nil {
		return err
	}
	control := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	return errors.Join(control, err)
}
