package llmproxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestP10LargeChunkedRequest(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	body := bytes.Repeat([]byte("0123456789abcdef"), 12<<20/16)
	c := r.dial()
	c.send("POST /sandbox/up HTTP/1.1\r\nHost: localhost\r\n%s\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n", r.bearer())
	for rest := body; len(rest) > 0; {
		n := min(len(rest), 300_000)
		c.send("%x\r\n%s\r\n", n, rest[:n])
		rest = rest[n:]
	}
	c.send("0\r\nX-Sum: 42\r\nX-Late: unannounced\r\nAuthorization: Bearer x\r\nX-Copy: %s\r\n\r\n", r.pairing)
	resp, _ := c.response("POST")
	s := <-got
	if resp.StatusCode != 200 || sha256.Sum256([]byte(s.body)) != sha256.Sum256(body) || s.length != -1 {
		t.Errorf("%d, %d bytes, length %d", resp.StatusCode, len(s.body), s.length)
	}
	want := http.Header{"X-Sum": {"42"}, "X-Late": {"unannounced"}}
	if !maps.EqualFunc(s.trailer, want, slices.Equal) {
		t.Errorf("trailer %v", s.trailer)
	}
	r.wantLine(1, map[string]any{"bytes_in": float64(len(body)), "bytes_out": 2, "outcome": "complete"})
}

func TestP10SizedRequestKeepsItsLength(t *testing.T) {
	got := make(chan seen, 2)
	r := newRig(t, recordTo(got))
	c := r.dial()
	// Both on one connection: it survives a request whose body was read to its end.
	for range 2 {
		c.send("PUT /sandbox/up HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: 5\r\n\r\nhello", r.bearer())
		resp, _ := c.response("PUT")
		if s := <-got; resp.StatusCode != 200 || resp.Close || s.body != "hello" || s.length != 5 {
			t.Errorf("%d %v %+v", resp.StatusCode, resp.Close, s)
		}
	}
}

// TestP10FullDuplex: each side waits for the other's last piece before it sends its next.
func TestP10FullDuplex(t *testing.T) {
	for _, framing := range []string{"Transfer-Encoding: chunked", "Content-Length: 15"} {
		r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			rc.EnableFullDuplex()
			w.WriteHeader(200)
			rc.Flush()
			b := make([]byte, 5)
			for range 3 {
				if _, err := io.ReadFull(r.Body, b); err != nil {
					return
				}
				fmt.Fprintf(w, "got %s\n", b)
				rc.Flush()
			}
			io.Copy(io.Discard, r.Body) // net/http cannot keep a full-duplex connection whose body was not read
		})
		c := r.dial()
		c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s\r\n\r\n", r.bearer(), framing)
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(resp.Body)
		for i := range 3 {
			piece := fmt.Sprintf("part%d", i)
			if strings.HasPrefix(framing, "T") {
				c.send("5\r\n%s\r\n", piece)
			} else {
				c.send("%s", piece)
			}
			if line, err := lines.ReadString('\n'); line != "got "+piece+"\n" {
				t.Fatalf("%s: %q %v", framing, line, err)
			}
		}
		if strings.HasPrefix(framing, "T") {
			c.send("0\r\n\r\n")
		}
		io.Copy(io.Discard, lines)
		r.wantLine(1, map[string]any{"bytes_in": 15, "bytes_out": 30, "outcome": "complete"})
	}
}

// TestP10EventsAtOnce: an event is with the client although the upstream has no further one to send.
func TestP10EventsAtOnce(t *testing.T) {
	next := make(chan string)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for event := range next {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	resp, err := http.ReadResponse(c.r, nil) // the header comes before any event
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"a", strings.Repeat("b", 1024), strings.Repeat("c", 4096), strings.Repeat("d", 100_000), "e"} {
		next <- event
		b := make([]byte, len(event))
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != event {
			t.Fatalf("event of %d bytes: %v", len(event), err)
		}
	}
	// P11: revoked, the running response completes; the next request is refused.
	if !r.proxy.Revoke(r.session.ID) {
		t.Error("nothing to revoke")
	}
	next <- "last"
	close(next)
	if rest, err := io.ReadAll(resp.Body); string(rest) != "last" || err != nil {
		t.Errorf("after the revocation: %q %v", rest, err)
	}
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	if resp, body := c.response("GET"); resp.StatusCode != 403 || code(t, resp, body) != "pairing_invalid" {
		t.Errorf("next request: %d", resp.StatusCode)
	}
	r.wantLine(2, map[string]any{"status": 403, "session": "", "client_id": "", "bytes_out": 0, "outcome": "complete"})
}

func TestP10ShortSizedBodyMayBeLate(t *testing.T) {
	late := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.(http.Flusher).Flush()
		<-late
		io.WriteString(w, "late")
	})
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.ContentLength != 4 {
		t.Fatalf("header: %v %v", resp, err)
	}
	close(late)
	if body, err := io.ReadAll(resp.Body); string(body) != "late" || err != nil {
		t.Errorf("body %q %v", body, err)
	}
}

func TestP10ResponsesPassAsTheyAre(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "hello")
	z.Close()
	for _, c := range []struct {
		name, method, wire string // what the upstream writes
		status             int
		header             http.Header
		body               string
		length             int64
		trailer            http.Header
		outcome            string
	}{
		{"sized", "GET", "200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a: 2\r\n\r\nhi", 200,
			http.Header{"Content-Length": {"2"}, "X-A": {"1", "2"}}, "hi", 2, nil, "complete"},
		{"chunked", "GET", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200, http.Header{}, "hi", -1, nil, "complete"},
		{"until the end", "GET", "200 OK\r\nConnection: close\r\n\r\nhi", 200, http.Header{}, "hi", -1, nil, "complete"},
		{"head", "HEAD", "200 OK\r\nContent-Length: 7\r\nContent-Type: a/b\r\n\r\n", 200,
			http.Header{"Content-Length": {"7"}, "Content-Type": {"a/b"}}, "", 7, nil, "complete"},
		{"head without length", "HEAD", "200 OK\r\n\r\n", 200, http.Header{}, "", -1, nil, "complete"},
		{"204", "POST", "204 No Content\r\nX-A: 1\r\n\r\n", 204, http.Header{"X-A": {"1"}}, "", 0, nil, "complete"},
		{"304", "GET", "304 Not Modified\r\nEtag: x\r\n\r\n", 304, http.Header{"Etag": {"x"}}, "", 0, nil, "complete"},
		{"empty", "GET", "200 OK\r\nContent-Length: 0\r\n\r\n", 200, http.Header{"Content-Length": {"0"}}, "", 0, nil, "complete"},
		{"redirect", "POST", "307 Temporary Redirect\r\nLocation: http://other.example/x\r\nContent-Length: 0\r\n\r\n", 307,
			http.Header{"Location": {"http://other.example/x"}, "Content-Length": {"0"}}, "", 0, nil, "complete"},
		{"401", "GET", "401 Unauthorized\r\nWww-Authenticate: Bearer\r\nContent-Length: 1\r\n\r\nx", 401,
			http.Header{"Www-Authenticate": {"Bearer"}, "Content-Length": {"1"}}, "x", 1, nil, "complete"},
		{"529", "GET", "529 \r\nContent-Length: 1\r\nDate: then\r\nServer: s\r\n\r\nx", 529,
			http.Header{"Date": {"then"}, "Server": {"s"}, "Content-Length": {"1"}}, "x", 1, nil, "complete"},
		{"gzip", "GET", fmt.Sprintf("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", zipped.Len(), zipped.String()), 200,
			http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {fmt.Sprint(zipped.Len())}}, zipped.String(), int64(zipped.Len()), nil, "complete"},
		{"cookies and hops", "GET", "200 OK\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\nProxy-Authenticate: x\r\nContent-Length: 0\r\n\r\n", 200,
			http.Header{"Set-Cookie": {"a=b", "c=d"}, "Content-Length": {"0"}}, "", 0, nil, "complete"},
		{"echoed credential", "GET", "200 OK\r\nX-Echo: Bearer " + realToken + "\r\nX-Kept: 1\r\nContent-Length: 0\r\n\r\n", 200,
			http.Header{"X-Kept": {"1"}, "Content-Length": {"0"}}, "", 0, nil, "complete"},
		{"trailers", "GET", "200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\nX-Late: 2\r\nX-Echo: " + realToken + "\r\n\r\n", 200,
			http.Header{}, "hi", -1, http.Header{"X-T": {"1"}, "X-Late": {"2"}}, "complete"},
	} {
		up := listenLoopback(t)
		go answerWire(up, "HTTP/1.1 "+c.wire)
		r := rigAt(t, up)
		client := r.dial()
		client.send("%s /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", c.method, r.bearer())
		resp, body := client.response(c.method)
		resp.Header.Del("Trailer")
		if resp.StatusCode != c.status || body != c.body || resp.ContentLength != c.length || !maps.EqualFunc(resp.Header, c.header, slices.Equal) {
			t.Errorf("%s: %d %v %q, length %d", c.name, resp.StatusCode, resp.Header, body, resp.ContentLength)
		}
		if !maps.EqualFunc(resp.Trailer, c.trailer, slices.Equal) {
			t.Errorf("%s: trailer %v", c.name, resp.Trailer)
		}
		r.wantLine(1, map[string]any{"status": c.status, "outcome": c.outcome, "bytes_out": len(c.body), "code": ""})
		if resp.Close {
			t.Errorf("%s: the connection closes", c.name)
		}
	}
}

// answerWire reads a request's header from each connection, writes answer and closes.
func answerWire(l net.Listener, answer string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second))
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.Copy(io.Discard, r.Body)
				io.WriteString(c, answer)
			}
		}()
	}
}
