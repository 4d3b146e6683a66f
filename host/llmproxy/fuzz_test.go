package llmproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pieces is a connection whose bytes come in pieces of one size.
type pieces struct {
	net.Conn
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(p.size, len(b))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzEarly: whatever a client sends, in whatever pieces, the connection remembers the first line of it, cut at the
// bound, and the answer is a refusal of the proxy's own.
func FuzzEarly(f *testing.F) {
	f.Add([]byte("GET /sandbox/%zz?x HTTP/1.1\r\nHost: h\r\n\r\n"), 4096, "HTTP/1.1 400 Bad Request\r\n")
	f.Add([]byte("GET /sandbox/x"), 1, "HTTP/1.1 431 Request Header Fields Too Large\r\n")
	f.Add([]byte("\n\n"), 2, "HTTP/1.1 400 Bad Request: missing required Host header")
	f.Add(bytes.Repeat([]byte("x"), 5000), 1000, "nonsense")
	f.Fuzz(func(t *testing.T, sent []byte, size int, answer string) {
		c := &conn{Conn: &pieces{rest: sent, size: max(2, size)}, proxy: &Proxy{}, listener: &listener{}, fresh: true}
		b := make([]byte, 4096)
		for err := error(nil); err == nil; {
			_, err = c.Read(b)
		}
		want, _, _ := bytes.Cut(sent, []byte("\n"))
		if len(c.line) > 2*maxRequestLine || !bytes.HasPrefix(want, c.line) || len(c.line) < min(len(want), maxRequestLine) {
			t.Errorf("remembers %d bytes of a first line of %d", len(c.line), len(want))
		}
		l := c.begun()
		if !bytes.HasPrefix(c.line, []byte(l.method)) || !bytes.Contains(c.line, []byte(l.path)) || strings.ContainsAny(l.method+l.path, " ?") && !strings.ContainsAny(l.method, "?") {
			t.Errorf("method %q, path %q of %q", l.method, l.path, c.line)
		}
		if no := earlyRefusal([]byte(answer), l.path); no.status < 400 || no.status > 599 || no.code == "" {
			t.Errorf("%q: %+v", answer, no)
		}
	})
}

// FuzzHidePairings: what could be a pairing never gets into the log, as it is or escaped, and the rest stays.
func FuzzHidePairings(f *testing.F) {
	for _, s := range []string{"/sandbox/v1/messages", "/" + fuzzPairing, "/%50" + fuzzPairing[1:] + "/x", "/%zz" + fuzzPairing + fuzzPairing, "\xff" + fuzzPairing + "é"} {
		f.Add(s)
	}
	pairing := regexp.MustCompile(`[A-Za-z0-9_-]{43}`)
	f.Fuzz(func(t *testing.T, s string) {
		got := hidePairings(s)
		if pairing.MatchString(got) && pairing.MatchString(unescapeGood(got)) && !strings.Contains(got, "%") {
			t.Errorf("%q becomes %q", s, got)
		}
		if found := pairing.MatchString(unescapeGood(s)); !found && got != s || found != strings.Contains(got, "[hidden]") && !strings.Contains(s, "[hidden]") {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}

// FuzzCreate: a request for a pairing names a client and an idle time within the bounds, or is an error in plain words.
func FuzzCreate(f *testing.F) {
	for _, s := range []string{`{"clientId":"a"}`, `{"clientId":"a","idleTimeoutSeconds":60}`, `[]`, `{"clientId":5}`, `{"clientId":"a"} x`, `{"idleTimeoutSeconds":1e3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, idle, err := readCreate(bytes.NewReader(body))
		if idle < 0 || idle > maxIdle || idle%time.Second != 0 || err != nil && idle != 0 {
			t.Errorf("%q: %v %v", body, idle, err)
		}
		if err != nil && strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: %v", body, err)
		}
	})
}

// FuzzDeviceFile: a device pairing file holds 43 characters of base64url and at most one newline, or no pairing.
func FuzzDeviceFile(f *testing.F) {
	for _, s := range []string{fuzzPairing, fuzzPairing + "\n", fuzzPairing + "\n\n", "", "\n", fuzzPairing[1:] + "+"} {
		f.Add([]byte(s))
	}
	good := regexp.MustCompile(`\A[A-Za-z0-9_-]{43}\n?\z`)
	path := filepath.Join(f.TempDir(), "p")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		secret, err := readDevicePairing(path)
		if (err == nil) != good.Match(content) || err == nil && !bytes.HasPrefix(content, secret.Reveal()) {
			t.Errorf("%q: %v", content, err)
		}
		if err != nil && errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", content, err)
		}
	})
}
