package server

import (
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestH15BodiesShareTheMemory(t *testing.T) {
	var b bodies
	var held []*lease
	for {
		l, ok := b.take(maxBody, time.Millisecond)
		if !ok {
			break
		}
		held = append(held, l)
	}
	if len(held) == 0 || int64(len(held))*maxBody*bodyCopies > maxBodies {
		t.Fatalf("%d of %d bytes at once", len(held), maxBody)
	}
	if _, ok := b.take(smallBody, 0); !ok {
		t.Error("a small body waits for large ones")
	}
	time.AfterFunc(time.Millisecond, func() { held[0].shrink(100) })
	if _, ok := b.take(maxBody-100, time.Minute); !ok {
		t.Error("what was given back is not taken")
	}
	held[0].shrink(0)
	held[0].shrink(0)
	for _, l := range held[1:] {
		l.shrink(0)
	}
	if b.used != (maxBody-100)*bodyCopies {
		t.Errorf("%d in use at the end", b.used)
	}
}

// Connections that say nothing make place for new ones, the oldest first.
func TestH15SilentConnectionsMakePlace(t *testing.T) {
	path := filepath.Join(folder(t).State, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const share = 16
	d := newPeerListener(l, func(*net.UnixConn) error { return nil }, share)
	dial := func() (client net.Conn) {
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return client
	}
	accept := func() *caller {
		conn, err := d.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*caller)
	}
	next := func() (net.Conn, *caller) { client := dial(); return client, accept() }
	open := func(c net.Conn) bool {
		c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		return errors.Is(err, os.ErrDeadlineExceeded)
	}

	busy, served := next()
	d.callers.begin(served)
	first, gone := next()
	for range share {
		next()
	}
	if open(first) || !open(busy) {
		t.Errorf("the oldest one is open: %v; one whose request has come: %v", open(first), open(busy))
	}
	if limit := share - share/4; d.callers.open != limit || d.callers.waiting.Len() != limit-1 {
		t.Errorf("%d are open, %d wait", d.callers.open, d.callers.waiting.Len())
	}
	gone.Close() // net/http comes late, and takes nobody's place
	gone.Close()
	d.callers.wait(served)
	d.callers.wait(served)
	if limit := share - share/4; d.callers.open != limit || d.callers.waiting.Len() != limit {
		t.Errorf("%d are open, %d wait", d.callers.open, d.callers.waiting.Len())
	}
	served.Close()

	// Where every one serves a request, a further one is told so at once, and the next is let in when one has ended.
	var all []*caller
	for d.callers.waiting.Len() > 0 {
		c := d.callers.waiting.Front().Value.(*caller)
		d.callers.begin(c)
		all = append(all, c)
	}
	for len(all) < share-share/4 {
		_, c := next()
		d.callers.begin(c)
		all = append(all, c)
	}
	late := dial()
	time.AfterFunc(50*time.Millisecond, func() { all[0].Close(); dial() })
	accept()
	late.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 503 ") {
		t.Errorf("%q, %v", text, err)
	}
}

// Peers that may not call have a quarter.
func TestH15RefusedConnectionsAreBounded(t *testing.T) {
	path := filepath.Join(folder(t).State, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newPeerListener(l, func(*net.UnixConn) error { return errors.New("no") }, 16)
	var clients []net.Conn
	for range 5 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	for range 4 {
		if c, err := d.Accept(); err != nil || c.(*caller).refused == nil {
			t.Fatal(c, err)
		}
	}
	go d.Accept()
	clients[4].SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, err := io.ReadAll(clients[4]); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 403 ") {
		t.Errorf("%q, %v", text, err)
	}
}

// Half a header is refused once it is too long, whatever more may come. net/http allows 4 KiB on top.
func TestH15HalfAHeaderIsBounded(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(folder(t).State, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Config: Config{Log: discard}}
	web := s.webServer(nil)
	defer web.Close()
	go web.Serve(l)
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /status HTTP/1.1\r\nHost: host\r\nX-Half: "+strings.Repeat("x", 24<<10))
	answer := make([]byte, len("HTTP/1.1 431 "))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 431 " {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestH15ARefusalHoldsForAMoment(t *testing.T) {
	var r refusals
	looked := 0
	no := errors.New("no")
	judge := func() error { looked++; return no }
	for range 5 {
		if err := r.judged(7, judge); err != no {
			t.Error(err)
		}
	}
	r.judged(8, judge)
	if looked != 2 {
		t.Errorf("looked %d times", looked)
	}
	r.until[7] = refusal{no, time.Now()}
	if err := r.judged(7, func() error { return nil }); err != nil {
		t.Errorf("later: %v", err)
	}
	if err := r.judged(0, func() error { return nil }); err != nil {
		t.Errorf("unknown: %v", err)
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer secret", 1)
	f.Add("bearer secret", 1)
	f.Add("Bearer secret", 2)
	f.Add("Bearer ", 1)
	f.Fuzz(func(t *testing.T, value string, times int) {
		s := &server{digest: sha256.Sum256([]byte("secret"))}
		r := &http.Request{Header: http.Header{}}
		for range times % 3 {
			r.Header.Add("Authorization", value)
		}
		if got := s.hasBearer(r); got != (value == "Bearer secret" && times%3 == 1) {
			t.Errorf("%q, %d times: %v", value, times%3, got)
		}
	})
}
