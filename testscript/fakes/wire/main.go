// Command wire speaks HTTP badly, for requests that no client would send: it connects, sends standard input as it
// comes, and prints what it gets.
//
//	wire [-raw] [-hangup] [-n COUNT] [-times COUNT] URL|SOCKET
//
// A newline goes out as CR LF unless -raw. The connection stays open behind the end of standard input until the
// other side closes it, with -hangup it is closed at once, unread. With -n so many connections are made, each is
// sent all of standard input, nothing is read, and `open: COUNT` says that all are there. With -times they are made one
// after another, each is sent all of standard input and read until the other side closes it, or breaks it off. Exit status: 0 for a clean end, 2 for a connection that broke off,
// 1 for none at all.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

var (
	raw    = flag.Bool("raw", false, "newlines as they are")
	hangup = flag.Bool("hangup", false, "close behind the end of standard input")
	count  = flag.Int("n", 0, "connections that are made and kept")
	times  = flag.Int("times", 0, "connections, one after another")
)

func main() {
	flag.Parse()
	if *count > 0 {
		fail(1, many())
	}
	if *times > 0 {
		fail(1, oneByOne())
	}
	one()
}

func dial() (net.Conn, error) {
	if filepath.IsAbs(flag.Arg(0)) {
		return net.Dial("unix", flag.Arg(0))
	}
	u, err := url.Parse(flag.Arg(0))
	if err != nil {
		return nil, err
	}
	return net.Dial("tcp", u.Host)
}

func one() {
	c, err := dial()
	if err != nil {
		fail(1, err)
	}
	go func() {
		io.Copy(sender{c}, os.Stdin)
		if *hangup {
			c.Close()
		}
	}()
	if _, err := io.Copy(os.Stdout, c); err != nil && !errors.Is(err, net.ErrClosed) {
		fail(2, err)
	}
	c.Close()
}

func oneByOne() error {
	text, err := io.ReadAll(os.Stdin)
	for range *times {
		c, err := dial()
		if err != nil {
			return err
		}
		sender{c}.Write(text) // the other side may have answered, and closed it
		io.Copy(os.Stdout, c)
		c.Close()
	}
	return err
}

// fail ends the program if there is an error.
func fail(status int, err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "wire: error:", err)
	os.Exit(status)
}

// sender writes newlines as CR LF.
type sender struct{ to io.Writer }

func (s sender) Write(b []byte) (int, error) {
	out := b
	if !*raw {
		out = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	_, err := s.to.Write(out)
	return len(b), err
}

// kept is reachable, or the collector would close what is in it.
var kept []net.Conn

// many keeps its connections until it is killed.
func many() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	for range *count {
		c, err := dial()
		if err != nil {
			return err
		}
		kept = append(kept, c)
		if _, err := (sender{c}).Write(text); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			return err // one that was closed already was made all the same
		}
	}
	fmt.Println("open:", len(kept))
	<-time.After(time.Hour)
	return nil
}
