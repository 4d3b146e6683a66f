package llmproxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hostshim/host/reach"
)

// Without the pairing nothing is held: a body that never comes does not keep the connection.
func TestN02SharedUnread(t *testing.T) {
	r := newRig(t, nil)
	proxy, _, _, echo := wayOut(t, r)
	for _, request := range []string{"CONNECT " + echo, "POST http://" + echo + "/x", "GET http://" + echo + "/x"} {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc", request)
		b := bufio.NewReader(c)
		resp, err := http.ReadResponse(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusProxyAuthRequired || resp.Header.Get("Proxy-Authenticate") == "" || !resp.Close || !strings.Contains(string(body), "pairing_invalid") {
			t.Errorf("%s: %s, close %v, %q, %v", request, resp.Status, resp.Close, body, err)
		}
		if _, err := b.ReadByte(); err == nil || isTimeout(err) {
			t.Errorf("%s: the connection is held: %v", request, err)
		}
	}
}

// plainOut is a session whose listed host, on port 80, is a server of the test's own.
func plainOut(t *testing.T, r *rig, serve http.HandlerFunc) (ask func(method, url, body string) *http.Request, e *Egress) {
	t.Helper()
	up := httptest.NewServer(serve)
	t.Cleanup(up.Close)
	hosts, err := reach.ParseAll([]string{"listed.test", "listed.test:80", "listed.test:8080", "*.below.test:80"})
	if err != nil {
		t.Fatal(err)
	}
	pairing, secret, err := r.proxy.CreateForLaunch(Launch{ClientID: "any", NoModel: true, Hosts: hosts, Template: "any"})
	if err != nil {
		t.Fatal(err)
	}
	pairing.Out.direct.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", up.Listener.Addr().String())
	}
	return func(method, url, body string) *http.Request {
		ask, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Proxy-Authorization", basic("session", string(secret.Reveal())))
		return ask
	}, pairing.Out
}

// through sends a request the way that clients of a proxy do: with the full URL.
func (r *rig) through(t *testing.T, ask *http.Request) (*http.Response, error) {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := ask.WriteProxy(c); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), ask)
}

// Plain requests go to port 80, where an entry names it, and are cleaned of what concerns one hop (N02).
func TestN02Plain(t *testing.T) {
	var seen http.Header
	r := newRig(t, nil)
	ask, e := plainOut(t, r, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		w.Header().Set("X-Host", r.Host)
		io.Copy(w, r.Body)
	})
	for _, c := range []struct{ url, want string }{
		{"http://listed.test/x", "200"},
		{"http://listed.test:80/x?q", "200"},
		{"http://LISTED.test./x", "200"},
		{"http://a.below.test/x", "200"},
		{"http://listed.test:8080/x", "403 plain_not_allowed"},
		{"http://listed.test:443/x", "403 plain_not_allowed"},
		{"http://other.test:443/x", "403 plain_not_allowed"},
		{"http://other.test/x", "403 host_not_listed"},
		{"http://below.test/x", "403 host_not_listed"},
	} {
		request := ask("POST", c.url, "text")
		request.Header.Set("Authorization", "Bearer client's own")
		request.Header.Set("Connection", "X-Hop")
		request.Header.Set("X-Hop", "1")
		resp, err := r.through(t, request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		got := resp.Status[:3]
		if _, code, ok := strings.Cut(string(body), `"code":"`); ok {
			got += " " + code[:strings.IndexByte(code, '"')]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
		if c.want == "200" && (string(body) != "text" || seen.Get("Authorization") != "Bearer client's own" || seen.Get("X-Hop") != "" || seen.Get("Proxy-Authorization") != "") {
			t.Errorf("%s: %q, header %v", c.url, body, seen)
		}
	}
	if refused, _ := e.Refused(); strings.Join(refused, " ") != "other.test:80 below.test:80" {
		t.Errorf("the hint names %q", refused)
	}
}

// A plain request does not outlive its session: neither the answer that goes on, nor the one that never comes.
func TestN05PlainEnds(t *testing.T) {
	for _, answers := range []bool{false, true} {
		arrived, gone := make(chan bool), make(chan bool)
		r := newRig(t, nil)
		ask, e := plainOut(t, r, func(w http.ResponseWriter, r *http.Request) {
			if answers {
				io.WriteString(w, "first")
				w.(http.Flusher).Flush()
			}
			arrived <- true
			<-r.Context().Done()
			gone <- true
		})
		ended := make(chan error)
		go func() {
			resp, err := r.through(t, ask("GET", "http://listed.test/x", ""))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			ended <- err
		}()
		<-arrived
		e.End()
		select {
		case <-gone:
		case <-time.After(15 * time.Second):
			t.Fatalf("answers %v: the request goes on after the session's end", answers)
		}
		if err := <-ended; err == nil {
			t.Errorf("answers %v: the client takes it for a whole answer", answers)
		}
	}
}

// TestN05Flood: ten thousand refused attempts leave nothing but their lines, each of a bounded length.
func TestN05Flood(t *testing.T) {
	const attempts = 10_000
	r := newRig(t, nil)
	proxy, secret, e, _ := wayOut(t, r)
	log := &counter{}
	r.proxy.config.Log = slogTo(log)
	password := basic("session", string(secret.Reveal()))
	try := func(n int) {
		for i := range n {
			c, err := net.Dial("tcp", proxy)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "CONNECT n%dx%s.test:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: %s\r\n\r\n", i, strings.Repeat("x", i%50), password)
			head := make([]byte, 12)
			if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 403" {
				t.Fatalf("%q, %v", head, err)
			}
			c.Close()
		}
		r.until("every line is written", func() bool { return log.lines.Load() >= int64(n) })
	}
	try(500)
	log.lines.Store(0)
	log.longest.Store(0)
	before := lasting(r)
	try(attempts)
	after := lasting(r)
	if log.lines.Load() != attempts || log.longest.Load() > 512 {
		t.Errorf("%d lines, the longest of %d bytes", log.lines.Load(), log.longest.Load())
	}
	if after.memory > before.memory+128<<10 || after.routines > before.routines+8 || after.files > before.files+8 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	refused, more := e.Refused()
	if len(refused) != maxRefused || more != 500+attempts-2*maxRefused {
		t.Errorf("%d are remembered, and %d more", len(refused), more)
	}
}

type lasts struct {
	memory          uint64 // bytes
	routines, files int
}

// lasting is what the process holds once what ends has ended.
func lasting(r *rig) (h lasts) {
	r.until("connections end", func() bool {
		r.proxy.mu.Lock()
		defer r.proxy.mu.Unlock()
		return r.proxy.serving == 0 && runtime.NumGoroutine() < 100
	})
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/dev/fd")
	return lasts{m.HeapAlloc + m.StackInuse, runtime.NumGoroutine(), len(files)}
}

// counter is a log that keeps no line.
type counter struct{ lines, longest atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.longest.Store(max(c.longest.Load(), int64(len(b))))
	c.lines.Add(1)
	return len(b), nil
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
