package llmproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Every way that a request can end, each with its line (P12).

func TestP10UpstreamBreaksOff(t *testing.T) {
	for _, wire := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\nhal",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello",
	} {
		up := listenLoopback(t)
		go answerWire(up, wire)
		r := rigAt(t, up)
		c := r.dial()
		c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
		resp, err := http.ReadResponse(c.r, nil)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(resp.Body)
			if err == nil {
				t.Errorf("%q: a clean end after %q", wire, body)
			}
		}
		r.wantLine(1, map[string]any{"status": 200, "outcome": "aborted", "session": r.session.ID})
	}
}

func TestP10BreaksOffForOldClients(t *testing.T) {
	up := listenLoopback(t)
	go answerWire(up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	r := rigAt(t, up)
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.0\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	if wire, err := io.ReadAll(c.r); err == nil {
		t.Errorf("a clean end after %q", wire)
	}
	r.wantLine(1, map[string]any{"status": 200, "outcome": "aborted"})
}

func TestP10UpstreamGone(t *testing.T) {
	closed := listenLoopback(t)
	closed.Close()
	r := &rig{t: t, log: &logBuffer{}, clock: newFakeClock(), token: realToken}
	r.start(&url.URL{Scheme: "http", Host: closed.Addr().String()})
	for i, request := range []string{"GET /sandbox/x HTTP/1.1\r\n", "POST /sandbox/x HTTP/1.1\r\nContent-Length: 3\r\n"} {
		c := r.dial()
		c.send("%sHost: localhost\r\n%s\r\n\r\nabc", request, r.bearer())
		resp, body := c.response("GET")
		if resp.StatusCode != 502 || code(t, resp, body) != "gateway_unreachable" || !strings.Contains(body, "connection refused") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		if strings.Contains(body, closed.Addr().String()) {
			t.Errorf("the answer names the upstream: %s", body)
		}
		r.wantLine(i+1, map[string]any{"status": 502, "code": "gateway_unreachable", "outcome": "complete", "bytes_out": 0})
	}
}

func TestP10UpstreamAnswersNonsense(t *testing.T) {
	for _, wire := range []string{"", "nonsense\r\n\r\n", "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"} {
		up := listenLoopback(t)
		go answerWire(up, wire)
		r := rigAt(t, up)
		resp, body := r.get("POST", "/sandbox/x", r.bearer())
		if resp.StatusCode != 502 || code(t, resp, body) != "gateway_unreachable" {
			t.Errorf("%q: %d %s", wire, resp.StatusCode, body)
		}
		r.wantLine(1, map[string]any{"status": 502, "outcome": "complete"})
	}
}

func TestP10HeaderTimeout(t *testing.T) {
	over := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) { <-over })
	defer close(over)
	r.proxy.upstream.transport.ResponseHeaderTimeout = 20 * time.Millisecond
	resp, body := r.get("GET", "/sandbox/x", r.bearer())
	if resp.StatusCode != 504 || code(t, resp, body) != "gateway_timeout" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.wantLine(1, map[string]any{"status": 504, "code": "gateway_timeout", "outcome": "complete"})
}

func TestP09NoCredential(t *testing.T) {
	r := newRig(t, recordTo(nil))
	for i, c := range []struct {
		token string
		err   error
		words string
	}{
		{"", errors.New("claude_token_file /home/u/token: no such file or directory"), "claude_token_file /home/u/token: no such file or directory"},
		{"", nil, "claude_token_file is not set"},
	} {
		r.set(func() { r.token, r.err = c.token, c.err })
		resp, body := r.get("GET", "/sandbox/x", r.bearer())
		if resp.StatusCode != 503 || code(t, resp, body) != "credential_unavailable" || !strings.Contains(body, c.words) {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		r.wantLine(i+1, map[string]any{"status": 503, "code": "credential_unavailable", "outcome": "complete", "client_id": "claude-code"})
	}
	// An unpaired caller learns nothing of it.
	if resp, body := r.get("GET", "/sandbox/x"); resp.StatusCode != 403 || strings.Contains(body, "token_file") {
		t.Errorf("unpaired: %d %s", resp.StatusCode, body)
	}
}

func TestP09RotatedToken(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	for _, token := range []string{"first-token", "second-token"} {
		r.set(func() { r.token = token })
		r.get("GET", "/sandbox/x", r.bearer())
		if s := <-got; s.header.Get("Authorization") != "Bearer "+token {
			t.Errorf("upstream saw %v", s.header)
		}
	}
}

func TestP12ClientGoneBeforeTheHeader(t *testing.T) {
	arrived, gone := make(chan bool), make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-r.Context().Done()
		gone <- true
	})
	for i, request := range []string{"GET /sandbox/x HTTP/1.1\r\n", "POST /sandbox/x HTTP/1.1\r\nContent-Length: 3\r\n"} {
		c := r.dial()
		c.send("%sHost: localhost\r\n%s\r\n\r\nabc", request, r.bearer())
		<-arrived
		c.Close()
		<-gone
		r.wantLine(i+1, map[string]any{"status": 0, "code": "", "outcome": "canceled", "session": r.session.ID, "bytes_out": 0})
	}
}

func TestP12ClientGoneInItsBody(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	for i, request := range []string{"Content-Length: 1000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		c := r.dial()
		c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", r.bearer(), request)
		c.Close()
		r.wantLine(i+1, map[string]any{"status": 0, "outcome": "canceled"})
	}
}

func TestP12ClientGoneInTheAnswer(t *testing.T) {
	gone := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, strings.Repeat("x", 1000))
			w.(http.Flusher).Flush()
		}
		close(gone)
	})
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	io.ReadFull(c.r, make([]byte, 5000))
	c.Close()
	<-gone
	r.wantLine(1, map[string]any{"status": 200, "outcome": "aborted"})
}

func TestP12MalformedBody(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	c := r.dial()
	c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\nx", r.bearer())
	resp, body := c.response("POST")
	if resp.StatusCode != 400 || code(t, resp, body) != "body_invalid" || !resp.Close {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.wantLine(1, map[string]any{"status": 400, "code": "body_invalid", "outcome": "complete"})
}

func TestP12Panic(t *testing.T) {
	log := &logBuffer{}
	r := newRig(t, recordTo(nil))
	r.log = log
	func() {
		defer func() { recover() }()
		l := &line{method: "GET", path: "/sandbox/" + strings.Repeat("x", 5000)}
		record(slogTo(log), l, func(int) { panic("a bug") }, 0)
	}()
	got := r.line(1)
	if got["outcome"] != "aborted" || len(got["path"].(string)) > maxLogPath+3 {
		t.Errorf("%v", got)
	}
}

func TestP12ExactShape(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 1)))
	r.get("POST", "/sandbox/a%20b?secret=1", r.bearer())
	r.line(1)
	text := strings.TrimSpace(r.log.String())
	text = text[strings.Index(text, `"level"`):]
	want := fmt.Sprintf(`"level":"INFO","msg":"LLM proxy sandbox request","session":%q,"client_id":"claude-code","method":"POST",`+
		`"path":"/sandbox/a%%20b","status":200,"code":"","bytes_in":0,"bytes_out":2,"duration_ms":`, r.session.ID)
	if !strings.HasPrefix(text, want) || !strings.HasSuffix(text, `,"outcome":"complete"}`) {
		t.Errorf("got  %s\nwant %s…", text, want)
	}
}

// TestEarlyAnswer: the upstream answers while the client is still sending. The client has its answer at once,
// the connection ends after it, and no read of the body is left behind.
func TestEarlyAnswer(t *testing.T) {
	for _, framing := range []string{"Content-Length: 1000000", "Content-Length: 10", "Transfer-Encoding: chunked"} {
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
		r.wantLine(1, map[string]any{"status": 413, "outcome": "complete", "bytes_out": 3})
		if _, err := c.r.ReadByte(); err != io.EOF {
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

func TestP14UpstreamPoolIsKept(t *testing.T) {
	addrs := make(chan string, 20)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
		addrs <- r.RemoteAddr
	})
	seen := map[string]bool{}
	for range 20 {
		c := r.dial()
		c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: 5\r\n\r\nhello", r.bearer())
		c.response("POST")
		seen[<-addrs] = true
	}
	if len(seen) != 1 {
		t.Errorf("%d connections to the upstream for 20 requests in a row", len(seen))
	}
}
