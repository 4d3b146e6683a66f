package testscript

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// cmdSend writes a file into a pipe or socket and closes it, or types text into a terminal.
func cmdSend(s *script, c *call) error {
	args, open := c.args, false
	if len(args) > 0 && args[0] == "-open" {
		args, open = args[1:], true
	}
	if len(args) < 2 {
		return errUsage
	}
	h := s.handles[args[0]]
	if p := s.procs[args[0]]; p != nil && p.terminal != nil {
		h = p.terminal
	}
	if h == nil {
		return fmt.Errorf("no pipe, socket or terminal %q", args[0])
	}
	var data []byte
	var err error
	if h.kind == "tty" {
		data, open = typed(strings.Join(args[1:], " ")), true
	} else if data, err = os.ReadFile(s.abs(args[1])); err != nil {
		return err
	}
	f, err := h.mine(h.to)
	if err == nil {
		f.SetWriteDeadline(time.Now().Add(s.timeout))
		_, err = f.Write(data)
	}
	if c.neg == '!' {
		return s.sendFails(f, err)
	}
	if !open && err == nil {
		if h.kind == "socket" {
			err = syscall.Shutdown(h.to, syscall.SHUT_WR)
		} else {
			betweenStarts(func() { err = f.Close() })
			h.open[h.to] = false
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: nobody reads %q", errTimeout, args[0])
	}
	return err
}

// sendFails waits until nobody can read any more.
func (s *script) sendFails(f *os.File, err error) error {
	if f == nil {
		return err
	}
	err = s.poll(func() (bool, error) {
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
		if i+1 < len(text) && (c == '\\' || c == '^') {
			i++
			switch next := text[i]; {
			case c == '^':
				c = next & 0x1f
			case next == 'r':
				c = '\r'
			case next == 'n':
				c = '\n'
			case next == 't':
				c = '\t'
			case next == 'e':
				c = 0x1b
			default:
				c = next
			}
		}
		b = append(b, c)
	}
	return b
}
