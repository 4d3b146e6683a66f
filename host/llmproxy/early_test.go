package llmproxy

import (
	"io"
	"net"
	"strings"
	"testing"
)

// Requests that net/http refuses by itself have the same answer and the same line as all others.

func TestEarlyRefusals(t *testing.T) {
	r := newRig(t, recordTo(nil))
	n := 0
	for _, c := range []struct {
		name, request string
		status        int
		code          string
		line          map[string]any // nil: none
	}{
		{"bad escape", "GET /sandbox/%zz?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path_invalid",
			map[string]any{"method": "GET", "path": "/sandbox/%zz", "status": 400, "code": "path_invalid", "outcome": "complete", "session": "", "bytes_out": 0}},
		{"cut escape", "POST /sandbox/%2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000), 400, "path_invalid",
			map[string]any{"method": "POST", "path": "/sandbox/%2"}},
		{"bad escape elsewhere", "GET /v1/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path_invalid", nil},
		{"no host", "GET /sandbox/x HTTP/1.1\r\n\r\n", 403, "host_not_allowed", map[string]any{"path": "/sandbox/x", "code": "host_not_allowed"}},
		{"two hosts", "GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400, "request_invalid", map[string]any{"status": 400}},
		{"bad host", "GET /sandbox/x HTTP/1.1\r\nHost: a b\r\n\r\n", 403, "host_not_allowed", map[string]any{"status": 403}},
		{"unknown transfer encoding", "POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "request_invalid", map[string]any{"status": 501}},
		{"unknown expectation", "POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n", 417, "request_invalid", map[string]any{"status": 417}},
		{"64 KiB of headers", "GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431, "request_invalid",
			map[string]any{"path": "/sandbox/x", "status": 431, "outcome": "complete"}},
		{"blank in the query", "GET /sandbox/x?a b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "request_invalid", map[string]any{"method": "GET", "path": "/sandbox/x"}},
		{"no HTTP", "hello\r\n\r\n", 400, "request_invalid", nil},
		{"bad header", "GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\nb@d\r\n\r\n", 400, "request_invalid", map[string]any{"status": 400}},
		{"absolute", "GET http://localhost/sandbox/x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path_invalid", nil},
		{"star", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path_invalid", nil},
		{"options star", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method_not_allowed", nil},
		{"connect", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 403, "browser_not_allowed", nil},
		{"http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403, "host_not_allowed", nil},
	} {
		conn := r.dial()
		go io.WriteString(conn, c.request)
		resp, body := conn.response("GET")
		if resp.StatusCode != c.status || code(t, resp, body) != c.code {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		conn.Close()
		if c.line == nil {
			if got := len(r.log.lines(t)); got != n {
				t.Errorf("%s: left a line", c.name)
			}
			continue
		}
		n++
		r.wantLine(n, c.line)
	}
}

func TestEarlyRefusalOnAKeptConnection(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	c := r.dial()
	for range 3 {
		c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
		c.response("GET")
	}
	// In pieces, the first of which may arrive while the last answer is being finished.
	for _, piece := range []string{"G", "ET /sand", "box/%zz", " HTTP/1.1\r", "\nHost: localhost\r\n\r\n"} {
		c.send("%s", piece)
	}
	if resp, body := c.response("GET"); code(t, resp, body) != "path_invalid" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.wantLine(4, map[string]any{"method": "GET", "path": "/sandbox/%zz", "code": "path_invalid"})
}

// What came in one piece with the request before it is answered and recorded too, though nothing is known of it.
func TestEarlyRefusalInOnePiece(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	for i, first := range []string{
		"GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n" + r.bearer() + "\r\n\r\n",
		"POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n" + r.bearer() + "\r\nContent-Length: 3\r\n\r\nabc",
	} {
		c := r.dial()
		c.send("%s", first+"GET /sandbox/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		c.response("GET")
		if resp, body := c.response("GET"); code(t, resp, body) != "request_invalid" {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		r.wantLine(2*i+2, map[string]any{"status": 400, "code": "request_invalid", "outcome": "complete", "session": ""})
	}
	c := r.dial()
	c.send("%s", "GET /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	io.ReadAll(c.r)
	if got := len(r.log.lines(t)); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
}

// A request whose header never ends has its line too.
func TestEarlyCutOff(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	want := map[string]any{"method": "POST", "path": "/sandbox/half", "status": 0, "code": "", "outcome": "canceled", "session": ""}
	for i, before := range []string{"", "GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n" + r.bearer() + "\r\n\r\n"} {
		c := r.dial()
		if before != "" {
			c.send("%s", before)
			c.response("GET")
		}
		c.send("POST /sandbox/half?secret HTTP/1.1\r\nX: %s", strings.Repeat("x", 2*usualHeader))
		r.until("the half header was read", func() bool { return r.heldHeaders() > 0 })
		c.Conn.(*net.TCPConn).SetLinger(0) // a reset: net/http has nothing to answer
		c.Close()
		r.wantLine(2*i+1, want)
	}
	if got := r.heldHeaders(); got != 0 {
		t.Errorf("%d bytes are still held", got)
	}
}

func (r *rig) heldHeaders() int {
	r.proxy.headers.mu.Lock()
	defer r.proxy.headers.mu.Unlock()
	return r.proxy.headers.used
}

func TestEarlyRefusalOfHead(t *testing.T) {
	r := newRig(t, recordTo(nil))
	c := r.dial()
	c.send("HEAD /sandbox/%%zz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	wire, err := io.ReadAll(c.r)
	if err != nil || !strings.HasPrefix(string(wire), "HTTP/1.1 400 Bad Request\r\n") || !strings.HasSuffix(string(wire), "\r\n\r\n") {
		t.Errorf("%q %v", wire, err)
	}
}
