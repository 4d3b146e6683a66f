package llmproxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	if got := r.session.upstream.ResponseHeaderTimeout; got != 600*time.Second {
		t.Errorf("the answer's header may take %v", got)
	}
	r.session.upstream.ResponseHeaderTimeout = 20 * time.Millisecond
	resp, body := r.get("GET", "/sandbox/x", r.bearer())
	if resp.StatusCode != 504 || code(t, resp, body) != "gateway_timeout" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.wantLine(1, map[string]any{"status": 504, "code": "gateway_timeout", "outcome": "complete"})
}

// An upstream that takes no body would hold the request up for ever: the header's time begins once it is sent.
func TestP10UpstreamTakesNoBody(t *testing.T) {
	over := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) { <-over })
	defer close(over)
	c, err := r.session.upstream.DialContext(t.Context(), "tcp", r.base.Host)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if got := c.(upstreamConn).patience; got != 600*time.Second {
		t.Errorf("a piece of the request may take %v", got)
	}
	r.session.upstream.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		return upstreamConn{Conn: c, patience: 50 * time.Millisecond}, err
	}
	client := r.dial()
	client.send("POST /sandbox/x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: 1000000000\r\n\r\n", r.pairing)
	go func() {
		for _, err := client.Write(make([]byte, 1<<20)); err == nil; _, err = client.Write(make([]byte, 1<<20)) {
		}
	}()
	resp, err := http.ReadResponse(client.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 504 || code(t, resp, string(body)) != "gateway_timeout" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.wantLine(1, map[string]any{"status": 504, "code": "gateway_timeout", "outcome": "complete"})
}

// TestP09ProviderChanges: another upstream in the settings has the next request, an answer in progress stays whole.
func TestP09ProviderChanges(t *testing.T) {
	finish := make(chan bool)
	old := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		<-finish
		io.WriteString(w, "two")
	})
	got := make(chan seen, 1)
	next := httptest.NewServer(recordTo(got))
	defer next.Close()
	c := old.dial()
	c.send("GET /sandbox/slow HTTP/1.0\r\nHost: localhost\r\n%s\r\n\r\n", old.bearer())
	if line, err := c.r.ReadString('e'); err != nil || !strings.HasPrefix(line, "HTTP/1.0 200 ") && !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Fatalf("%q %v", line, err)
	}
	old.set(func() { old.base, old.token = mustURL(next.URL+"/base"), "next-token" })
	old.get("GET", "/sandbox/x", old.bearer())
	if s := <-got; s.target != "/base/x" || s.header.Get("Authorization") != "Bearer next-token" {
		t.Errorf("the new upstream saw %s %v", s.target, s.header)
	}
	close(finish)
	if rest, err := io.ReadAll(c.r); err != nil || !strings.HasSuffix(string(rest), "onetwo") {
		t.Errorf("the answer in progress: %q %v", rest, err)
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
