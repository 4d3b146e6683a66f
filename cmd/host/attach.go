package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostshim/host/client"
	"hostshim/host/wire"
	"hostshim/shim"
)

// defaultDetach is what leaves a session running and gives the terminal back: ^].
const defaultDetach = 0x1d

const attachMore = `
The session's output so far comes first. ^] detaches and leaves the session running. When the session ends, so does
this, with its exit status.
`

func attach(args []string) int {
	f := newFlags("attach")
	detach := f.String("detach-key", "^]", "`KEY` that detaches: ^ and a letter or one of [\\]^_, or none")
	f.more = attachMore
	c, code, ok := f.connect(args, 1)
	if !ok {
		return code
	}
	key, err := controlKey(*detach)
	if err != nil {
		return usageError(err.Error(), "as in --detach-key ^P")
	}
	v, code, ok := find(c, f.Arg(0))
	if !ok {
		return code
	}
	return attachSession(c, v, key)
}

// controlKey is the byte of a control key, -1 for none.
func controlKey(text string) (int, error) {
	if text == "none" {
		return -1, nil
	}
	if len(text) == 2 && text[0] == '^' {
		if c := text[1] &^ 0x20; c >= 'A' && c <= '_' || text[1] >= '[' && text[1] <= '_' {
			return int(text[1] & 0x1f), nil
		}
	}
	return 0, fmt.Errorf("--detach-key %q is no control key", text)
}

// attachSession connects this terminal, or these pipes, to a session until the session ends or the key is pressed.
func attachSession(c *client.Client, before wire.Session, key int) int {
	id := before.SessionID
	session, err := c.Attach(id)
	if err != nil {
		return fail(err)
	}
	defer session.Close()
	// Before the terminal changes, so that a signal always finds somebody who puts it back.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGWINCH)
	terminal, err := makeRaw(os.Stdin)
	if err != nil {
		return fail(err)
	}
	defer terminal.restore()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(terminal.screen(os.Stdout), session)
		ended <- err
	}()
	detached := make(chan struct{})
	go typeInto(session, key, terminal != nil, detached)
	follow := func() {
		if cols, rows := terminalSize(os.Stdin); terminal != nil {
			c.Resize(id, cols, rows) // a session without a terminal refuses, and needs none
		}
	}
	follow()
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGWINCH {
				follow()
				continue
			}
			terminal.restore()
			signal.Reset(sig)
			shim.ByDefault(sig.(syscall.Signal))
			syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		case <-detached:
			terminal.restore()
			fmt.Fprintf(os.Stderr, "\n%s: detached from %s\n", called(), id)
			return 0
		case err := <-ended:
			terminal.restore()
			if before.State == wire.StateEnded {
				fmt.Fprintf(os.Stderr, "%s: session %s has ended: this was its last output\n", called(), id)
			}
			return afterwards(c, session, id, err)
		}
	}
}

// tooSlow is why the host breaks a connection off.
const tooSlow = "this side took less than 100 KiB a second"

// afterwards says why the connection ended: with the session, or because this side was too slow.
func afterwards(c *client.Client, session *client.Attached, id string, err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return 0 // nobody reads what this prints
	}
	var write *os.PathError
	if errors.As(err, &write) {
		return fail(err) // a full disk, say
	}
	v, err := c.Session(id)
	switch {
	case err != nil:
		return fail(err)
	case v.State != wire.StateEnded:
		return fail(fmt.Errorf("session %q: %s; the session runs on: attach again", id, tooSlow))
	case session.Missing(v) > 0:
		return fail(fmt.Errorf("session %q has ended, its last %d bytes were not shown: %s", id, session.Missing(v), tooSlow))
	}
	return exitStatus(v)
}

// typeInto sends what is typed. The detach key counts only on a terminal. Piped input may end before the session
// does: then there is nothing more to send, and still something to see.
func typeInto(session io.Writer, key int, terminal bool, detached chan<- struct{}) {
	buf := make([]byte, 4<<10)
	for {
		n, err := os.Stdin.Read(buf)
		for i := 0; terminal && i < n; i++ {
			if int(buf[i]) == key {
				session.Write(buf[:i])
				close(detached)
				return
			}
		}
		if n > 0 {
			if _, err := session.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// rawTerminal is a terminal whose every key goes to the session, and what it was before. nil is no terminal.
type rawTerminal struct {
	fd     int
	before *unix.Termios

	shown chan struct{} // holds one element while the fields below are in use, also while the terminal takes its time
	modes screenModes
	over  bool // nothing more is shown
}

// resetWithin is how long restore waits for a terminal that takes no output.
const resetWithin = time.Second

// screen shows output on the terminal and follows the modes that it sets.
func (t *rawTerminal) screen(to io.Writer) io.Writer {
	if t == nil || !isTerminal(os.Stdout) {
		return to
	}
	return writer(func(p []byte) (int, error) {
		t.shown <- struct{}{}
		defer func() { <-t.shown }()
		if t.over {
			return len(p), nil
		}
		t.modes.Write(p)
		return to.Write(p)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func makeRaw(f *os.File) (*rawTerminal, error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil // a pipe or a file
	}
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return &rawTerminal{fd: fd, before: before, shown: make(chan struct{}, 1)}, nil
}

// restore gives the terminal back as it was (S22). After it nothing of the session is shown.
func (t *rawTerminal) restore() {
	if t == nil {
		return
	}
	unix.IoctlSetTermios(t.fd, setTermios, t.before)
	select {
	case t.shown <- struct{}{}:
		defer func() { <-t.shown }()
	case <-time.After(resetWithin):
		return
	}
	if !t.over {
		t.over = true
		io.WriteString(os.Stdout, t.modes.reset())
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// terminalSize is the size of f's terminal, 80×24 where there is none.
func terminalSize(f *os.File) (cols, rows int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}
