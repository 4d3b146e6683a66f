package llmproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"hostshim/host/credential"
)

const (
	realToken  = "sk-ant-oat01-REAL-TOKEN-THAT-NO-CLIENT-EVER-SEES"
	deviceTest = "DEVICEpairing_0123456789-abcdefghijklmnopqr"
)

// fakeClock stands still until a test moves one of its clocks or both.
type fakeClock struct {
	mu  sync.Mutex
	now instant
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: instant{wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), run: time.Hour}}
}

func (c *fakeClock) read() instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) move(wall, run time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = instant{wall: c.now.wall.Add(wall), run: c.now.run + run}
}

func (c *fakeClock) pass(d time.Duration) { c.move(d, d) }

// logBuffer collects the proxy's log lines.
type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}

// lines returns the request lines so far.
func (b *logBuffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("log line %q: %v", text, err)
		}
		if m["msg"] == logMessage {
			lines = append(lines, m)
		}
	}
	return lines
}

// rig is a proxy on a loopback listener before an upstream of the test's own.
type rig struct {
	t        *testing.T
	proxy    *Proxy
	addr     string
	log      *logBuffer
	clock    *fakeClock
	upstream *httptest.Server

	mu     sync.Mutex
	base   *url.URL // what the provider function gives, or its error
	token  string
	auth   string
	limits Limits
	own    bool
	err    error
	policy Policy
	unsure error // why there is no policy
	asked  []string
	events []Event

	session Pairing // that of the client claude-code
	pairing string  // its secret
}

func newRig(t *testing.T, upstream http.HandlerFunc) *rig {
	t.Helper()
	s := upstreamServer(t, upstream)
	s.Start()
	return startRig(t, mustURL(s.URL), s)
}

// upstreamServer is not started yet. A panic in it fails the test, unless it is the one that breaks an answer off.
func upstreamServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	s, faults := httptest.NewUnstartedServer(handler), &logBuffer{}
	s.Config.ErrorLog = log.New(faults, "", 0)
	t.Cleanup(func() {
		s.Close()
		faults.wantNoPanic(t, "the upstream")
	})
	return s
}

// wantNoPanic looks for one that net/http's server caught.
func (b *logBuffer) wantNoPanic(t *testing.T, who string) {
	t.Helper()
	if text := b.String(); strings.Contains(text, "panic serving") {
		t.Errorf("%s panicked:\n%s", who, text)
	}
}

// rigAt is a rig whose upstream is whatever answers on l.
func rigAt(t *testing.T, l net.Listener) *rig {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	return startRig(t, &url.URL{Scheme: "http", Host: l.Addr().String()}, nil)
}

func startRig(t *testing.T, base *url.URL, upstream *httptest.Server) *rig {
	t.Helper()
	r := &rig{t: t, log: &logBuffer{}, clock: newFakeClock(), token: realToken, base: base, upstream: upstream}
	r.proxy = newProxy(Config{
		Provider:      r.provider,
		Policy:        func() (Policy, error) { r.mu.Lock(); defer r.mu.Unlock(); return r.policy, r.unsure },
		DevicePairing: credential.NewSecret([]byte(deviceTest)),
		Log:           slogTo(r.log),
		Audit:         func(e Event) { r.mu.Lock(); defer r.mu.Unlock(); r.events = append(r.events, e) },
	}, r.clock.read)
	l := listenLoopback(t)
	r.addr = l.Addr().String()
	if err := r.proxy.Start(l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.proxy.Close()
		r.log.wantNoPanic(t, "the proxy")
		if strings.Contains(r.log.String(), realToken) || strings.Contains(r.log.String(), r.pairing) {
			t.Errorf("the log holds a secret:\n%s", r.log)
		}
	})
	made, secret, err := r.proxy.Create("claude-code", 0)
	if err != nil {
		t.Fatal(err)
	}
	r.session, r.pairing = made, string(secret.Reveal())
	return r
}

// plainConfig is what New needs at least.
func plainConfig() Config {
	return Config{
		Policy: func() (Policy, error) { return Policy{}, nil },
		Log:    slog.New(slog.DiscardHandler),
		Audit:  func(Event) {},
	}
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (r *rig) provider(clientID, service string) (Provider, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, clientID)
	return Provider{Upstream: r.base, Credential: credentialOf(r.token), Auth: r.auth, Limits: r.limits, Own: r.own || service != ""}, r.err
}

func (r *rig) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// until polls, with a bound.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("waited in vain: %s\nlog:\n%s", what, r.log)
		case <-tick.C:
		}
	}
}

// line waits for the n-th request line and checks that there is no further one yet.
func (r *rig) line(n int) map[string]any {
	r.t.Helper()
	r.until(fmt.Sprintf("log line %d", n), func() bool { return len(r.log.lines(r.t)) >= n })
	lines := r.log.lines(r.t)
	if len(lines) != n {
		r.t.Fatalf("%d log lines, want %d:\n%s", len(lines), n, r.log)
	}
	return lines[n-1]
}

// wantLine compares some members of the n-th request line.
func (r *rig) wantLine(n int, want map[string]any) {
	r.t.Helper()
	got := r.line(n)
	for name, v := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(v) {
			r.t.Errorf("log line %d: %s is %v, want %v", n, name, got[name], v)
		}
	}
}

func credentialOf(token string) credential.Secret { return credential.NewSecret([]byte(token)) }

func slogTo(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
