package llmproxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Net/http refuses some requests before any handler sees them, such as one with a bad escape in its path, without a
// Host, or with too large a header. It writes a plain text to the connection and closes it. Such a request gets the same
// answer and the same log line as any other (P07, P12): the connection remembers the request line, and writes the
// proxy's own answer in place of that text.

// maxRequestLine is how much of a request line is remembered.
const maxRequestLine = 4 << 10

// conn is a client's connection. Net/http never reads it from two goroutines at once.
type conn struct {
	net.Conn
	proxy    *Proxy
	listener *listener

	served bool   // the current request has a handler
	before bool   // the previous request was on a route of session pairings
	fresh  bool   // the next bytes belong to a request line
	first  []byte // of the next request, if it came while the previous one was being answered
	line   []byte // the current request line, as far as it was read
	ended  bool   // the current request was answered here
	header int    // bytes read of the current header
}

func (c *conn) Close() error {
	defer c.listener.leave(c)
	c.proxy.headers.release(c)
	return c.Conn.Close()
}

// CloseWrite lets net/http end a connection without losing the last answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.served {
		if c.header += n; c.header > usualHeader {
			c.proxy.headers.take(c, n)
		}
	}
	switch {
	case n == 0:
	case c.fresh:
		c.begin(b[:n])
	case len(b) == 1:
		// While a request is answered, net/http reads one byte of the next to notice whether the client has left.
		c.first = append(c.first[:0], b[0])
	}
	return n, err
}

// begin remembers a request line, which may come in pieces.
func (c *conn) begin(b []byte) {
	if len(c.line) == 0 {
		c.line = append(c.line, c.first...)
		c.first = c.first[:0]
	}
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end]
	}
	c.line = append(c.line, b[:min(len(b), maxRequestLine)]...)
	c.fresh = end < 0 && len(c.line) < maxRequestLine
}

// followConn is net/http's ConnState hook. It runs in the goroutine that reads the connection.
func followConn(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	switch {
	case !ok:
	case state == http.StateIdle:
		c.listener.idle(c)
		c.served, c.fresh, c.line, c.header = false, true, c.line[:0], 0
	case state == http.StateClosed && !c.served && !c.fresh && !c.ended:
		c.cutOff()
	}
}

// cutOff records a request whose header never ended: the client broke off, took too long, or had to make room.
func (c *conn) cutOff() {
	if l := c.begun(); onSession(l.path) || l.egress {
		record(c.proxy, l, (*line).canceled, l)
	}
}

// begun is the line of a request of which no more is known than how it began.
func (c *conn) begun() *line {
	method, target := splitRequestLine(string(c.line))
	path, _ := splitTarget(target)
	l := &line{method: method, path: path}
	if out := c.listener.out; out != nil && asksOut(method, target) {
		l.start(out, target)
	}
	return l
}

type connKey struct{}

func rememberConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

// arrived notes that the current request has a handler, and whether it is on a route of session pairings.
func arrived(r *http.Request, session bool) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.listener.busy(c)
		if c.header > usualHeader {
			c.proxy.headers.release(c)
		}
		c.served, c.before = true, session
	}
}

// resetOnClose makes the connection of a request end in a reset.
func resetOnClose(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
}

// Write passes a handler's answer on. An answer without a handler is net/http's own, written in one piece, and Write
// replaces it.
func (c *conn) Write(b []byte) (int, error) {
	if c.served {
		return c.Conn.Write(b)
	}
	c.ended = true
	l := c.begun()
	no := earlyRefusal(b, l.path)
	answer := func(response []byte) {
		l.answered(no)
		if _, err := c.Conn.Write(response); err != nil {
			l.canceled()
		}
		c.drain()
	}
	response := no.response(l.method != http.MethodHead)
	// A request that came in one piece with the previous one was not seen here, so the previous one's route decides.
	if onSession(l.path) || l.egress || len(c.line) == 0 && c.before {
		record(c.proxy, l, answer, response)
	} else {
		answer(response)
	}
	return len(b), nil
}

// drain reads what the client is still sending, for a while. A connection that is closed over unread bytes is reset, and
// the answer could be lost.
func (c *conn) drain() {
	c.CloseWrite()
	c.Conn.SetReadDeadline(time.Now().Add(lingerTime / 2))
	io.CopyN(io.Discard, c.Conn, 256<<10)
}

// splitRequestLine splits a request line, as far as it is one, where net/http does.
func splitRequestLine(s string) (method, target string) {
	method, rest, _ := strings.Cut(strings.TrimSuffix(s, "\r"), " ")
	target, _, _ = strings.Cut(rest, " ")
	return method, target
}

// earlyRefusal returns the refusal for an answer of net/http's own.
func earlyRefusal(answer []byte, path string) *refusal {
	text, _, _ := strings.Cut(string(answer), "\r\n")
	_, text, _ = strings.Cut(text, " ")
	code, text, _ := strings.Cut(text, " ")
	status, err := strconv.Atoi(code)
	switch {
	case err != nil || status < 400 || status > 599:
		return &refusal{http.StatusBadRequest, "request_invalid", "bad request", 0}
	case strings.Contains(text, "Host header"):
		return refuseHost
	case status == http.StatusBadRequest && strings.HasPrefix(path, "/") && !pathAllowed(path):
		return refusePath
	}
	return &refusal{status, "request_invalid", strings.ToLower(text), 0}
}
