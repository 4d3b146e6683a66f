package llmproxy

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tooManyFiles fails some accepts as a process out of descriptors would.
type tooManyFiles struct {
	net.Listener
	left atomic.Int32
}

func (l *tooManyFiles) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestP14AcceptRecovers(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 1)))
	l := &tooManyFiles{Listener: listenLoopback(t)}
	l.left.Store(3)
	done := make(chan error, 1)
	go func() { done <- r.proxy.ServeSession(l, r.session.ID, nil) }()
	r.addr = l.Addr().String()
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
	l.Close()
	if err := <-done; err != nil {
		t.Errorf("ServeSession: %v", err)
	}
}

func TestP14ConnectionsAreBounded(t *testing.T) {
	r := newRig(t, recordTo(nil))
	inner := listenLoopback(t)
	l := newListener(inner, r.proxy, false, nil)
	l.limit = 2
	accepted := make(chan net.Conn, 3)
	over := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				over <- err
				return
			}
			accepted <- c
		}
	}()
	open := func() int { l.crowd.mu.Lock(); defer l.crowd.mu.Unlock(); return len(l.conns) }

	// None is worked on: a third takes the place of the one that has gone longest without.
	clients := []net.Conn{dialRaw(t, inner.Addr().String())}
	first := <-accepted
	clients = append(clients, dialRaw(t, inner.Addr().String()))
	second := (<-accepted).(*conn)
	l.busy(second)
	l.idle(second)
	clients = append(clients, dialRaw(t, inner.Addr().String()))
	third := (<-accepted).(*conn)
	if _, err := clients[0].Read(make([]byte, 1)); err != io.EOF || open() != 2 {
		t.Errorf("the first ended with %v, %d are open", err, open())
	}
	first.Close() // frees nothing any more
	if open() != 2 {
		t.Errorf("%d are open", open())
	}

	// Both are: a further one waits until one of them ends.
	l.busy(second)
	l.busy(third)
	dialRaw(t, inner.Addr().String())
	select {
	case <-accepted:
		t.Fatal("one more than the bound was accepted")
	case <-time.After(20 * time.Millisecond):
	}
	if open() != 2 {
		t.Fatalf("%d are open", open())
	}
	second.Close()
	second.Close() // twice frees one
	fourth := (<-accepted).(*conn)
	if open() != 2 {
		t.Errorf("%d are open", open())
	}

	// Nobody waits for a listener that is closed.
	l.busy(fourth)
	select {
	case err := <-over:
		t.Fatal(err)
	case <-time.After(20 * time.Millisecond): // the loop waits by now
	}
	l.Close()
	<-over
}

func TestServeRefusesOtherAddresses(t *testing.T) {
	r := newRig(t, recordTo(nil))
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skip(err)
	}
	if err := r.proxy.Start(l); err == nil || !strings.Contains(err.Error(), "not loopback") {
		t.Errorf("Start on %v: %v", l.Addr(), err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener stays open")
	}
	if err := r.proxy.ServeSession(listenLoopback(t), "", nil); err == nil {
		t.Error("a session's listener without a session")
	}
}

// Half-sent headers take bounded memory: those that have waited longest make room, and everybody else is served.
func TestP14HalfHeadersAreBounded(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	const clients, each = 250, 50_000
	first := r.dial()
	for i := range clients {
		c := first
		if i > 0 {
			c = r.dial()
		}
		before := r.heldHeaders()
		c.send("GET /sandbox/half HTTP/1.1\r\nHost: localhost\r\nX: %s", strings.Repeat("x", each))
		r.until("the header was counted", func() bool { now := r.heldHeaders(); return now > maxHeaders-each || now >= before+each-usualHeader })
	}
	if got := r.heldHeaders(); got > maxHeaders {
		t.Errorf("%d bytes are held", got)
	}
	if _, err := first.r.ReadByte(); err == nil {
		t.Error("the first one is still there")
	}
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer(), "X: "+strings.Repeat("x", each)); resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
	r.until("each that made room has its line", func() bool { return len(r.log.lines(t)) > clients-maxHeaders/(each-usualHeader) })
	for _, l := range r.log.lines(t) {
		if full := l["path"] == "/sandbox/x"; full != (l["outcome"] == "complete") || !full && l["outcome"] != "canceled" {
			t.Errorf("line %v", l)
		}
	}
}
