package llmproxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// newTLSRig is a rig before an https upstream, which speaks HTTP/2 or not.
func newTLSRig(t *testing.T, http2 bool, upstream http.HandlerFunc) *rig {
	t.Helper()
	s := httptest.NewUnstartedServer(upstream)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return startRig(t, mustURL(s.URL), s)
}

func (r *rig) trust() {
	pool := x509.NewCertPool()
	pool.AddCert(r.upstream.Certificate())
	r.proxy.upstream.TLSClientConfig = &tls.Config{RootCAs: pool}
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
	r.upstream.Config.ErrorLog = nil
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
