package llmproxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hostshim/host/credential"
	"hostshim/host/reach"
)

// record of a ClientHello for name, as crypto/tls sends it.
func clientHello(t testing.TB, name string, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	config.ServerName, config.InsecureSkipVerify = name, true
	go func() { tls.Client(theirs, config).Handshake(); theirs.Close() }()
	b := make([]byte, 64<<10)
	n, err := ours.Read(b)
	ours.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// in is a connection that gives bytes, a few at a time, and then what end says.
type in struct {
	net.Conn
	rest []byte
	size int
	end  error
}

func (c *in) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, c.end
	}
	n := copy(b[:min(len(b), max(1, c.size))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *in) Close() error { return nil }

func TestReadHello(t *testing.T) {
	host := reach.Host{Name: "listed.test", Port: 443}
	good := clientHello(t, "listed.test", &tls.Config{})
	split := func(at int) []byte {
		head := func(n int) []byte { return []byte{22, 3, 1, byte(n >> 8), byte(n)} }
		body := good[5:]
		return bytes.Join([][]byte{head(at), body[:at], head(len(body) - at), body[at:]}, nil)
	}
	for _, c := range []struct {
		name string
		sent []byte
		host reach.Host
		code string // "" passes
	}{
		{"as it is", good, host, ""},
		{"with more behind", append(bytes.Clone(good), 1, 2, 3), host, ""},
		{"TLS 1.2", clientHello(t, "listed.test", &tls.Config{MaxVersion: tls.VersionTLS12}), host, ""},
		{"other case", clientHello(t, "LISTED.test", &tls.Config{}), host, ""},
		{"other name", clientHello(t, "other.test", &tls.Config{}), host, helloName},
		{"name below", clientHello(t, "a.listed.test", &tls.Config{}), host, helloName},
		{"no name", clientHello(t, "10.0.0.1", &tls.Config{}), host, helloName},
		{"no name, for an address", clientHello(t, "10.0.0.1", &tls.Config{}), reach.Host{Port: 443}, ""},
		{"a name, for an address", good, reach.Host{Port: 443}, helloName},
		{"two records", split(40), host, helloInvalid},
		{"two records, behind the name", split(len(good) - 6), host, helloInvalid},
		{"plain", []byte("GET / HTTP/1.1\r\n\r\n"), host, helloInvalid},
		{"half", good[:len(good)-1], host, helloInvalid},
		{"an alert first", append([]byte{21, 3, 1, 0, 2, 1, 0}, good...), host, helloInvalid},
		{"large", append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3}, make([]byte, 20<<10)...), host, helloInvalid},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			from := &in{rest: c.sent, size: size, end: io.EOF}
			seen, code, err := readHello(from, from, c.host)
			if code != c.code || (err == nil) != (c.code == "") {
				t.Errorf("%s, %d at a time: code %q, %v, want %q", c.name, size, code, err, c.code)
			} else if err == nil && !bytes.Equal(append(seen, from.rest...), c.sent) {
				t.Errorf("%s, %d at a time: what was read is not what was sent", c.name, size)
			}
		}
	}
	from := &in{end: io.EOF}
	if _, code, err := readHello(from, from, host); code != "" || err == nil {
		t.Errorf("nothing: code %q, %v", code, err)
	}
}

func FuzzHello(f *testing.F) {
	f.Add(clientHello(f, "listed.test", &tls.Config{}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		from := &in{rest: sent, size: len(sent), end: io.EOF}
		seen, code, err := readHello(from, from, reach.Host{Name: "listed.test", Port: 443})
		if err == nil && (code != "" || !inOneRecord(seen) || !bytes.HasPrefix(sent, seen) || !bytes.Contains(bytes.ToLower(seen), []byte("listed.test"))) {
			t.Fatalf("passes: %q of %q", seen, sent)
		}
		if len(seen) > maxHello {
			t.Fatalf("%d bytes are kept", len(seen))
		}
	})
}

// wayOut is a session with a way out on the shared listener, as on macOS, and an echo server that is listed.
func wayOut(t *testing.T, r *rig) (proxy string, secret credential.Secret, e *Egress, echo string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	hosts, err := reach.ParseAll([]string{l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	pairing, secret, err := r.proxy.CreateForLaunch(Launch{ClientID: "Any Template", NoModel: true, Hosts: hosts, Template: "Any Template"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(r.proxy.BaseURL(), "http://"), "/sandbox"), secret, pairing.Out, l.Addr().String()
}

func tunnelTo(t *testing.T, proxy, target, password string) (net.Conn, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n", target)
	if password != "" {
		fmt.Fprintf(c, "Proxy-Authorization: %s\r\n", basic("session", password))
	}
	fmt.Fprint(c, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	return c, resp
}

// TestSharedWayOut: on a listener that sessions share, the pairing is the proxy's password, and good for that alone.
func TestSharedWayOut(t *testing.T) {
	r := newRig(t, nil)
	proxy, secret, e, echo := wayOut(t, r)
	password := string(secret.Reveal())
	c, resp := tunnelTo(t, proxy, echo, password)
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	io.WriteString(c, "ping")
	if got := make([]byte, 4); true {
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "ping" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if _, resp := tunnelTo(t, proxy, echo, ""); resp.StatusCode != http.StatusProxyAuthRequired || resp.Header.Get("Proxy-Authenticate") == "" || !resp.Close {
		t.Errorf("without a password: %s, close %v", resp.Status, resp.Close)
	}
	if _, resp := tunnelTo(t, proxy, echo, strings.Repeat("x", 43)); resp.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("with another password: %s", resp.Status)
	}
	if _, resp := tunnelTo(t, proxy, "other.test:443", password); resp.StatusCode != http.StatusForbidden || !strings.Contains(resp.Status, `"hosts" of template "Any Template"`) {
		t.Errorf("not listed: %s", resp.Status)
	}
	ask, _ := http.NewRequest("GET", "http://"+proxy+"/sandbox/v1/models", nil)
	ask.Header.Set("Authorization", "Bearer "+password)
	if resp, err := http.DefaultTransport.RoundTrip(ask); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("the model for a pairing of the way out: %v, %v", resp, err)
	}
	if refused, more := e.Refused(); len(refused) != 1 || refused[0] != "other.test" || more != 0 {
		t.Errorf("%q and %d more are remembered", refused, more)
	}

	// The session's end ends the tunnel, and lets nothing out after it.
	e.End()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes after the end, %v", n, err)
	}
	if _, resp := tunnelTo(t, proxy, echo, password); resp.StatusCode != http.StatusForbidden {
		t.Errorf("after the end: %s", resp.Status)
	}
}

// A line names the host that was asked for, and nothing that a URL may hold besides.
func TestN04LineNamesTheHostAlone(t *testing.T) {
	for target, want := range map[string]string{
		"example.com:443":                 "example.com:443",
		"http://example.com/p?api_key=K":  "example.com",
		"https://ann:pw@example.com:8/p":  "example.com:8",
		"http://example.com?k=K":          "example.com",
		"http://example.com#pw@other.com": "example.com",
	} {
		var l line
		l.start(&Egress{}, target)
		if l.host != want {
			t.Errorf("%s: %q, want %q", target, l.host, want)
		}
	}
}
