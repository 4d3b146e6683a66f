//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// upstreamArg makes this program the model provider of a run, in a process of its own: a server that does the
// least that can be done, so that what is measured is the proxy before it. It is no example of how to read HTTP: it
// trusts its two clients, who announce the size of every body.
const upstreamArg = "upstream"

const (
	askBytes    = 115 << 10 // what Claude Code sends
	answerBytes = 2 << 10
	eventGap    = 5 * time.Millisecond
)

// upstream is where it serves, and what a proxy's environment needs to trust it.
type upstream struct {
	scheme, address string
	env             []string
}

// startUpstream starts one; with https it speaks HTTP/2 as well.
func (b *bench) startUpstream(scheme string) (up upstream, err error) {
	self, err := os.Executable()
	if err != nil {
		return up, err
	}
	cmd := exec.Command(self, upstreamArg)
	up.scheme = scheme
	if scheme == "https" {
		roots := filepath.Join(b.dir, "upstream.pem")
		cmd.Args = append(cmd.Args, roots)
		up.env = []string{"SSL_CERT_FILE=" + roots}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return up, err
	}
	if _, err := b.start("upstream", cmd); err != nil {
		return up, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	up.address = strings.TrimSpace(line)
	return up, err
}

// serveUpstream prints its address and serves until it is killed; with the name of a file for its certificate, by TLS.
func serveUpstream(args []string) error {
	raiseFiles()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return serveTLS(l, args[0])
	}
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go serveConn(c)
	}
}

var shortAnswer = append([]byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", answerBytes)),
	bytes.Repeat([]byte("a"), answerBytes)...)

const streamHeader = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// serveConn answers one request after another: POST anything with a short answer, GET …/events/N with that many
// events, and GET …/idle with one event and then nothing.
func serveConn(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 4<<10)
	var body []byte
	for {
		first, length, err := readHead(r)
		if err != nil {
			return
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(first, "GET "), " ")
		switch {
		case length > 0:
			if body == nil {
				body = make([]byte, askBytes)
			}
			for length > 0 {
				n, err := r.Read(body[:min(length, len(body))])
				if err != nil {
					return
				}
				length -= n
			}
			_, err = c.Write(shortAnswer)
		case strings.HasSuffix(path, "/idle"):
			c.Write(append([]byte(streamHeader), event()...))
		default:
			n, _ := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:])
			err = sendEvents(c, n)
		}
		if err != nil {
			return
		}
	}
}

func readHead(r *bufio.Reader) (first string, length int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case len(text) == 0:
			return first, length, nil
		case first == "":
			first = string(text)
		case len(text) > 15 && bytes.EqualFold(text[:15], []byte("content-length:")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(text[15:])))
		}
	}
}

func sendEvents(c net.Conn, n int) error {
	if _, err := c.Write([]byte(streamHeader)); err != nil {
		return err
	}
	tick := time.NewTicker(eventGap)
	defer tick.Stop()
	for range n {
		<-tick.C
		if _, err := c.Write(event()); err != nil {
			return err
		}
	}
	_, err := c.Write([]byte("0\r\n\r\n"))
	return err
}

// eventMark stands before the time at which an event was sent, in nanoseconds, 19 digits.
const eventMark = "data: "

// event is a chunk with one event about as long as a token of an answer.
func event() []byte {
	text := fmt.Sprintf("event: content_block_delta\n%s%d %080d\n\n", eventMark, time.Now().UnixNano(), 0)
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(text), text)
}
