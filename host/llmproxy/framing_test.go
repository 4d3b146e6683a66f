package llmproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestEarlyAnswer: the upstream answers while the client is still sending. The client has its answer at once,
// the connection ends after it, and no read of the body is left behind, whether or not the rest of the body still comes.
func TestEarlyAnswer(t *testing.T) {
	for _, sent := range []struct{ framing, rest string }{
		{"Content-Length: 1000000", ""}, {"Content-Length: 10", ""}, {"Content-Length: 10", "0123456789"},
		{"Transfer-Encoding: chunked", ""}, {"Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"},
	} {
		framing, rest := sent.framing, sent.rest
		up := listenLoopback(t)
		r := rigAt(t, up)
		go func() {
			for {
				c, err := up.Accept()
				if err != nil {
					return
				}
				http.ReadRequest(bufio.NewReader(c))
				io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
				defer c.Close()
			}
		}()
		c := r.dial()
		c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s\r\n\r\n", r.bearer(), framing)
		resp, body := c.response("POST")
		if resp.StatusCode != 413 || body != "big" || !resp.Close {
			t.Errorf("%s: %d %q close %v", framing, resp.StatusCode, body, resp.Close)
		}
		io.WriteString(c, rest)
		r.wantLine(1, map[string]any{"status": 413, "outcome": "complete", "bytes_out": 3})
		if _, err := c.r.ReadByte(); err != io.EOF && (rest == "" || !errors.Is(err, syscall.ECONNRESET)) { // it came too late
			t.Errorf("%s: the connection stays open: %v", framing, err)
		}
	}
}

// TestRefusedAtOnce: a refusal does not wait for a body, and a client that sends it all the same gets the answer.
func TestRefusedAtOnce(t *testing.T) {
	r := newRig(t, recordTo(nil))
	c := r.dial()
	c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	if resp, body := c.response("POST"); resp.StatusCode != 403 || code(t, resp, body) != "pairing_invalid" || !resp.Close {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	c = r.dial()
	c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12000000\r\n\r\n")
	go func() { c.Write(make([]byte, 12_000_000)) }()
	if resp, _ := c.response("POST"); resp.StatusCode != 403 {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestP10ExpectContinue(t *testing.T) {
	for _, c := range []struct{ name, first, want string }{
		{"granted", "HTTP/1.1 100 Continue\r\n\r\n", "100"},
		{"hints first", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", "103 100"},
		{"refused", "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "417"},
	} {
		up := listenLoopback(t)
		r := rigAt(t, up)
		go func() {
			conn, err := up.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			req, err := http.ReadRequest(in)
			if err != nil || req.Header.Get("Expect") != "100-continue" {
				return
			}
			io.WriteString(conn, c.first)
			if c.name == "refused" {
				return
			}
			body, _ := io.ReadAll(req.Body)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}()
		conn := r.dial()
		conn.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", r.bearer())
		var got []string
		for {
			resp, err := http.ReadResponse(conn.r, nil)
			if err != nil {
				t.Fatalf("%s: after %v: %v", c.name, got, err)
			}
			got = append(got, fmt.Sprint(resp.StatusCode))
			if resp.StatusCode == 100 {
				conn.send("hello")
			}
			if resp.StatusCode == 200 {
				if body, _ := io.ReadAll(resp.Body); string(body) != "hello" {
					t.Errorf("%s: body %q", c.name, body)
				}
				c.want += " 200"
			}
			if resp.StatusCode == 103 && resp.Header.Get("Link") != "</a>" {
				t.Errorf("%s: 103 with %v", c.name, resp.Header)
			}
			if resp.StatusCode >= 200 {
				break
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
		r.line(1)
	}
}

func TestP10Informational(t *testing.T) {
	up := listenLoopback(t)
	go answerWire(up, "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	r := rigAt(t, up)
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	wire, _ := io.ReadAll(io.LimitReader(c.r, int64(len(informationalWant))))
	if string(wire) != informationalWant {
		t.Errorf("%q", wire)
	}
}

const informationalWant = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

// TestSmuggling: whatever a request's framing claims, the upstream sees exactly the requests that the proxy saw,
// each with its own line: none hides in the body of another.
func TestSmuggling(t *testing.T) {
	targets := make(chan string, 10)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			targets <- r.RequestURI
		}
	})
	inner := "GET /sandbox/inner HTTP/1.1\r\nHost: localhost\r\n" + r.bearer() + "\r\nConnection: close\r\n\r\n"
	lines := 0
	for _, head := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"Content-Length: +5\r\n\r\nhello",
		"Content-Length: 5, 5\r\n\r\nhello",
		"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n",
		"Content-Length: 5\r\nX-A: b\r\n folded: c\r\n\r\nhello",
	} {
		c := r.dial()
		c.send("POST /sandbox/outer HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s%s", r.bearer(), head, inner)
		io.Copy(io.Discard, c.r)
		for _, l := range r.log.lines(t)[lines:] {
			lines++
			if l["status"] != 200.0 {
				continue
			}
			if target := "/sandbox" + <-targets; target != l["path"] {
				t.Errorf("%q: upstream was asked for %s, the line says %s", head, target, l["path"])
			}
		}
		if len(targets) != 0 {
			t.Errorf("%q: upstream was asked for %s, without a line", head, <-targets)
		}
	}
}
