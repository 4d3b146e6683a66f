package server

import (
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"path/filepath"
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
	w := &waiting{limit: 1 << 30}
	d := &peerListener{UnixListener: l, judge: func(*net.UnixConn) error { return nil }, waiting: w}
	dial := func() (client net.Conn, c *caller) {
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		conn, err := d.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return client, conn.(*caller)
	}
	busy, c := dial()
	w.begin(c)
	first, _ := dial()
	for range maxWaiting {
		dial()
	}
	first.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, errTimeout(err)) {
		t.Errorf("the oldest one: %v", err)
	}
	busy.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := busy.Read(make([]byte, 1)); err == nil || !errors.Is(err, errTimeout(err)) {
		t.Errorf("one whose request has come: %v", err)
	}
	w.limit = 0 // every descriptor is one too many
	_, last := dial()
	if n := w.conns.Len(); n > maxWaiting || last.place == nil {
		t.Errorf("%d wait", n)
	}
	last.Close()
	last.Close()
}

// errTimeout is err if it is a timeout.
func errTimeout(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return net.ErrClosed
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
