package llmproxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// newTLSRig is a rig before an https upstream, which speaks HTTP/2 or not.
func newTLSRig(t *testing.T, http2 bool, upstream http.HandlerFunc) *rig {
	t.Helper()
	s := upstreamServer(t, upstream)
	s.EnableHTTP2 = http2
	s.StartTLS()
	return startRig(t, mustURL(s.URL), s)
}

func (r *rig) trust(pairings ...Pairing) {
	pool := x509.NewCertPool()
	pool.AddCert(r.upstream.Certificate())
	for _, p := range append(pairings, r.session) {
		p.upstream.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
}

// HTTP/2 has answers with a length and a trailer. The client gets both ends of it.
func TestP10HTTP2LengthAndTrailer(t *testing.T) {
	for _, body := range []string{"hello", ""} {
		r := newTLSRig(t, true, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-T")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(200)
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
			w.Header().Set("X-T", "1")
		})
		r.trust()
		c := r.dial()
		for i := range 3 {
			c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
			if resp, got := c.response("GET"); got != body || resp.Trailer.Get("X-T") != "1" {
				t.Errorf("%q: %q, trailer %v", body, got, resp.Trailer)
			}
			r.wantLine(i+1, map[string]any{"status": 200, "outcome": "complete", "bytes_out": len(body)})
		}
		c.send("HEAD /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
		if resp, _ := c.response("HEAD"); resp.ContentLength != int64(len(body)) {
			t.Errorf("HEAD: length %d", resp.ContentLength)
		}
		c.send("GET /sandbox/x HTTP/1.0\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
		if resp, got := c.response("GET"); got != body || resp.ContentLength != int64(len(body)) {
			t.Errorf("HTTP/1.0: %q, length %d", got, resp.ContentLength)
		}
	}
}

// HTTP/2 says the end of a body in a frame of its own. Who has the whole body need not wait for it, nor stay for it.
func TestP10HTTP2LateEnd(t *testing.T) {
	over := make(chan bool)
	r := newTLSRig(t, true, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
		<-over
	})
	defer close(over)
	r.trust()
	c := r.dial()
	for i := range 2 {
		c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
		if _, body := c.response("GET"); body != "hello" {
			t.Errorf("%q", body)
		}
		if i == 1 {
			c.Close()
		}
		r.wantLine(i+1, map[string]any{"status": 200, "outcome": "complete", "bytes_out": 5})
	}
}

// A header over the limit breaks its HTTP/2 connection, and with it no request of another session. A large one passes.
func TestP10HTTP2LargeHeader(t *testing.T) {
	more := map[string]chan bool{"/own": make(chan bool), "/other": make(chan bool)}
	r := newTLSRig(t, true, func(w http.ResponseWriter, r *http.Request) {
		if n, err := strconv.Atoi(r.RequestURI[1:]); err == nil {
			w.Header().Set("X-Large", strings.Repeat("x", n))
			return
		}
		io.WriteString(w, "one ")
		w.(http.Flusher).Flush()
		<-more[r.RequestURI]
		io.WriteString(w, "two")
	})
	other, secret, err := r.proxy.Create("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	r.trust(other)
	innocent := r.dial()
	innocent.send("GET /sandbox/other HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\n\r\n", secret.Reveal())
	innocent.r.Peek(1)
	own := r.dial()
	own.send("GET /sandbox/own HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	own.r.Peek(1)
	if resp, _ := r.get("GET", "/sandbox/1000000", r.bearer()); resp.StatusCode != 200 || len(resp.Header.Get("X-Large")) != 1_000_000 {
		t.Errorf("a header of 1 MB: %d", resp.StatusCode)
	}
	more["/own"] <- true
	if _, body := own.response("GET"); body != "one two" {
		t.Errorf("the same session's stream: %q", body)
	}
	if resp, body := r.get("GET", "/sandbox/6000000", r.bearer()); resp.StatusCode != 502 || code(t, resp, body) != "gateway_unreachable" {
		t.Errorf("a header of 6 MB: %d", resp.StatusCode)
	}
	more["/other"] <- true
	if _, body := innocent.response("GET"); body != "one two" {
		t.Errorf("the other session's stream: %q", body)
	}
}

func TestUpstreamOverTLS(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		r := newTLSRig(t, http2, func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 != http2 || len(r.Header) != 2+len(r.Header["Content-Length"]) {
				t.Errorf("%s %v", r.Proto, r.Header)
			}
			rc := http.NewResponseController(w)
			rc.EnableFullDuplex()
			w.Header().Set("Link", "</a>")
			w.WriteHeader(103)
			w.Header().Del("Link")
			w.Header().Set("Trailer", "X-T")
			w.WriteHeader(200)
			b := make([]byte, 5)
			for range 2 {
				if _, err := io.ReadFull(r.Body, b); err != nil {
					panic(http.ErrAbortHandler)
				}
				fmt.Fprintf(w, "%s %s\n", r.RequestURI, b)
				rc.Flush()
			}
			io.Copy(io.Discard, r.Body) // net/http cannot keep a full-duplex connection whose body was not read
			if strings.HasSuffix(r.RequestURI, "cut") {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("X-T", "1")
		})
		r.trust()
		for i, target := range []string{"/a|b?c", "//x/y?", "/cut"} {
			c := r.dial()
			c.send("POST /sandbox%s HTTP/1.1\r\nHost: localhost\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", target, r.bearer())
			resp, err := http.ReadResponse(c.r, nil)
			if err != nil || resp.StatusCode != 103 || resp.Header.Get("Link") != "</a>" {
				t.Fatalf("http2 %v, %s: %v %v", http2, target, resp, err)
			}
			if resp, err = http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 200 {
				t.Fatalf("http2 %v, %s: %v %v", http2, target, resp, err)
			}
			lines := bufio.NewReader(resp.Body)
			if line, _ := lines.ReadString('\n'); line != target+" first\n" {
				t.Errorf("http2 %v: %q", http2, line)
			}
			c.send("6\r\nsecond\r\n0\r\n\r\n")
			rest, err := io.ReadAll(lines)
			if cut := target == "/cut"; (err != nil) != cut || !cut && (string(rest) != target+" secon\n" || resp.Trailer.Get("X-T") != "1") {
				t.Errorf("http2 %v: %q %v, trailer %v", http2, rest, err, resp.Trailer)
			}
			outcome := map[bool]string{true: "aborted", false: "complete"}[err != nil]
			r.wantLine(i+1, map[string]any{"status": 200, "outcome": outcome})
		}
	}
}

func TestUntrustedUpstream(t *testing.T) {
	r := newTLSRig(t, true, recordTo(nil))
	resp, body := r.get("GET", "/sandbox/x", r.bearer())
	if resp.StatusCode != 502 || code(t, resp, body) != "gateway_unreachable" || !strings.Contains(body, "certificate is not trusted") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestUpstreamWithItsOwnPath(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	r.set(func() { r.base = mustURL(r.upstream.URL + "/base%2Fa/") })
	r.get("GET", "/sandbox/v1?x", r.bearer())
	if target := (<-got).target; target != "/base%2Fa/v1?x" {
		t.Errorf("upstream was asked for %s", target)
	}
}

// TestReasons: what goes wrong upstream is told without an address, a user or a password.
func TestReasons(t *testing.T) {
	secret := &url.Error{Op: "Get", URL: "http://user:password@proxy.example/", Err: errors.New("password")}
	for _, err := range []error{
		secret, fmt.Errorf("proxyconnect: %w", &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}, Err: syscall.ECONNREFUSED}),
		&net.DNSError{Name: "secret.example", Err: "no such host"}, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		tls.RecordHeaderError{Msg: "password"}, io.ErrUnexpectedEOF,
	} {
		for _, word := range []string{"password", "example", "10.1.2.3"} {
			if text := reason(err); strings.Contains(text, word) || text == "" {
				t.Errorf("%v: %q", err, text)
			}
		}
	}
}

// TestStress: many clients, some of which leave at any moment: one line a request, no goroutine left behind.
func TestStress(t *testing.T) {
	before := runtime.NumGoroutine()
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, io.LimitReader(r.Body, 50_000))
		for range 3 {
			io.WriteString(w, strings.Repeat("x", 3000))
			w.(http.Flusher).Flush()
		}
	})
	const clients, requests = 16, 25
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for j := range requests {
				c, err := net.Dial("tcp", r.addr)
				if err != nil {
					t.Error(err)
					return
				}
				c.SetDeadline(time.Now().Add(20 * time.Second))
				fmt.Fprintf(c, "POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n%s", r.bearer(), strings.Repeat("y", 1000*(j*4)))
				if (i+j)%3 != 0 {
					io.WriteString(c, strings.Repeat("y", 100_000-4000*j))
				}
				if (i+j)%3 == 1 {
					io.Copy(io.Discard, c)
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	r.line(clients * requests)
	r.proxy.Close()
	r.upstream.Close()
	r.until("all goroutines ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}
