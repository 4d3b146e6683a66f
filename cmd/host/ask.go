package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"hostshim/shim"
)

var errNoTerminal = errors.New("standard input is no terminal: give the token with --token-file FILE or --token-stdin")

// askToken asks for the token on the terminal without showing it. ^C and other ends give the terminal back as it was; ^Z
// does nothing meanwhile, since the shell would then get it without echo.
func askToken() ([]byte, error) {
	before, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), getTermios)
	if err != nil {
		return nil, errNoTerminal
	}
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	defer signal.Stop(signals)
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
	silent.Cc[unix.VSUSP] = noCharacter
	restore := func() { unix.IoctlSetTermios(int(os.Stdin.Fd()), setTermios, before) }
	if err := unix.IoctlSetTermios(int(os.Stdin.Fd()), setTermios, &silent); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	defer restore()
	defer close(done)
	go func() {
		select {
		case sig := <-signals:
			restore()
			fmt.Fprintln(os.Stderr)
			signal.Reset(sig)
			shim.ByDefault(sig.(syscall.Signal))
			syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		case <-done:
		}
	}()
	fmt.Fprint(os.Stderr, "Token that claude setup-token showed at its end (it is not shown here): ")
	text := make([]byte, shim.MaxToken+1)
	n, err := os.Stdin.Read(text) // one line: the terminal hands over no more at once
	if err != nil || n == 0 {
		clear(text)
		return nil, errors.New("no token was typed")
	}
	// What was pasted behind the line's end would go to the shell, in sight.
	if rest := discardTyped(int(os.Stdin.Fd())); rest {
		clear(text)
		return nil, errors.New("the token came in more than one line: paste it as one")
	}
	return text[:n], nil
}

// discardTyped throws away what was typed and not read yet, and says whether there was any.
func discardTyped(fd int) bool {
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, 0)
	flushInput(fd)
	return err == nil && n > 0 && ready[0].Revents&unix.POLLIN != 0
}
