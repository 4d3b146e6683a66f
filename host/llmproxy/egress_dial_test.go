package llmproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hostshim/host/reach"
)

// turning is a name server that gives one answer after another, the last for ever. It counts questions for IPv4.
type turning struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (d *turning) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go d.serve(theirs)
	return ours, nil
}

// serve answers as over TCP: each message with its length before it.
func (d *turning) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		ask := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, ask); err != nil {
			return
		}
		end := 12
		for ask[end] != 0 {
			end += 1 + int(ask[end])
		}
		end += 5 // the root, type and class
		answer := append([]byte{ask[0], ask[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, ask[12:end]...)
		if ask[end-3] == 1 { // A
			for _, a := range d.next() {
				b := netip.MustParseAddr(a).As4()
				answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), b[:]...)
				answer[7]++
			}
		}
		c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

func (d *turning) next() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return d.answers[min(d.asked, len(d.answers))-1]
}

// TestN03Rebinding: a name is looked up once, and what is dialled is what was judged. Nothing is really dialled: the last
// question before it says no.
func TestN03Rebinding(t *testing.T) {
	stop := errors.New("enough")
	for _, c := range []struct {
		name    string
		answers [][]string
		dialled string // addresses
		closed  bool
	}{
		{"public, then loopback", [][]string{{"93.184.216.34"}, {"127.0.0.1"}}, "93.184.216.34:443", false},
		{"loopback, then public", [][]string{{"127.0.0.1"}, {"93.184.216.34"}}, "", true},
		{"both at once", [][]string{{"127.0.0.1", "93.184.216.34", "169.254.169.254"}}, "93.184.216.34:443", true},
		{"none", [][]string{{}}, "", false},
	} {
		server := &turning{answers: c.answers}
		var mu sync.Mutex
		var dialled []string
		by := net.Dialer{
			Resolver: &net.Resolver{PreferGo: true, Dial: server.dial},
			Control: func(_, address string, _ syscall.RawConn) error {
				mu.Lock()
				defer mu.Unlock()
				dialled = append(dialled, address)
				return stop
			},
		}
		_, err := dialDirect(context.Background(), by, reach.Host{Name: "www.listed.test", Port: 443})
		if got := strings.Join(dialled, " "); got != c.dialled {
			t.Errorf("%s: %q is dialled, want %q", c.name, got, c.dialled)
		}
		if closed := new(closedAddress); errors.As(err, &closed) != c.closed {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name != "none" && server.asked != 1 {
			t.Errorf("%s: %d look-ups", c.name, server.asked)
		}
	}
}

// The host's own proxy, by TLS, is believed like the model's provider: by the certificates that the host was given.
func TestN03OuterByTLS(t *testing.T) {
	asked := make(chan string, 2)
	outer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nbehind")
	}))
	outer.Config.ErrorLog = log.New(io.Discard, "", 0)
	outer.StartTLS()
	defer outer.Close()
	roots := x509.NewCertPool()
	roots.AddCert(outer.Certificate())
	proxy, err := url.Parse(outer.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialThrough(context.Background(), proxy, "listed.test:443", roots)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != "behind" || err != nil || <-asked != "CONNECT listed.test:443" {
		t.Errorf("%q, %v", got, err)
	}
	unknown := new(tls.CertificateVerificationError)
	if _, err := dialThrough(context.Background(), proxy, "listed.test:443", x509.NewCertPool()); !errors.As(err, &unknown) {
		t.Errorf("without its certificate: %v", err)
	}
}
