package llmproxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"hostshim/host/descriptors"
	"hostshim/host/reach"
)

// All connections that the proxy makes are bounded together: a new one takes the place of an idle one, and where every one
// is in use the request is refused at once.
func TestH15UpstreamsAreBounded(t *testing.T) {
	hold := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		if req.URL.Path == "/hold" {
			<-hold
		}
	})
	r.proxy.out = descriptors.NewPool(dialCost)
	bearerOfAnother := func() string {
		_, secret, err := r.proxy.Create("claude-code", 0)
		if err != nil {
			t.Fatal(err)
		}
		return "Authorization: Bearer " + string(secret.Reveal())
	}
	one, other := bearerOfAnother(), bearerOfAnother()
	for _, pairing := range []string{one, other, one} {
		// net/http takes a moment to call a connection idle.
		r.until("an idle connection of another's makes room", func() bool { resp, _ := r.get("GET", "/sandbox/x", pairing); return resp.StatusCode == 200 })
	}
	c := r.dial()
	c.send("GET /sandbox/hold HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", one)
	if resp, err := http.ReadResponse(bufio.NewReader(c.r), nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	if resp, body := r.get("GET", "/sandbox/x", other); resp.StatusCode != 502 {
		t.Errorf("with none left: %d %s", resp.StatusCode, body)
	}
	close(hold)
	c.Close()
	r.until("the connection is free", func() bool { resp, _ := r.get("GET", "/sandbox/x", other); return resp.StatusCode == 200 })
	r.proxy.closeIdle()
	r.until("all are given back", func() bool { return r.proxy.out.Take(dialCost) })
}

// Beyond what all listeners may have together, the one with most connections makes room, whoever comes.
func TestH15TheFullestListenerMakesRoom(t *testing.T) {
	r := newRig(t, recordTo(nil))
	crowd := newCrowd(4)
	var inner [2]net.Listener
	var outer [2]*listener
	for i := range inner {
		inner[i] = listenLoopback(t)
		outer[i] = newListener(inner[i], r.proxy, false, nil)
		outer[i].crowd = crowd
	}
	enter := func(i int) (client net.Conn, c *conn) {
		client = dialRaw(t, inner[i].Addr().String())
		nc, err := outer[i].Accept()
		if err != nil {
			t.Fatal(err)
		}
		return client, nc.(*conn)
	}
	ended := func(c net.Conn) bool {
		c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		return err == io.EOF
	}
	first, c := enter(0)
	c.listener.busy(c)
	second, _ := enter(0)
	enter(0)
	lone, _ := enter(1)
	enter(1)
	if ended(first) || !ended(second) || ended(lone) {
		t.Errorf("ended: the busy one %v, the fullest's %v, the other's %v", ended(first), ended(second), ended(lone))
	}
	if crowd.open != 4 || len(crowd.listeners) != 2 {
		t.Errorf("%d are open, of %d listeners", crowd.open, len(crowd.listeners))
	}
	crowd.relieve()
	if crowd.open != 3 {
		t.Errorf("%d are open once one was to go", crowd.open)
	}
}

// Two sessions that take all they can leave a third one its own.
func TestH15SessionsLeaveSomeToOthers(t *testing.T) {
	p := &Proxy{crowd: newCrowd(8)}
	enter := func(l *listener) {
		if _, ok := l.enter(&conn{listener: l}); !ok {
			t.Fatal("the listener is closed")
		}
	}
	shared := newListener(nil, p, false, nil)
	if shared.limit != 6 {
		t.Errorf("the shared listener may have %d connections of 8, and no session its own", shared.limit)
	}
	for i, want := range []int{4, 2, 1, 1} {
		l := newListener(nil, p, true, nil)
		for enter(l); len(l.conns) < l.room(); {
			enter(l)
		}
		if len(l.conns) != want {
			t.Errorf("session %d of a crowd of 8 has %d connections, want %d", i, len(l.conns), want)
		}
	}
}

// One that has all that it may have closes its own idle connections, and nobody else's while there are some left.
func TestH15AFullShareClosesItsOwn(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, req.RemoteAddr) })
	out := descriptors.NewPool(8 * dialCost)
	r.proxy.out = out
	part, own, dialled := out.Part(), 0, 0
	for part.Take(dialCost) {
	}
	one := func(closeOwn func()) error {
		_, err := r.proxy.makeOne(part, func() { own++; closeOwn() }, func() (net.Conn, error) { dialled++; return nil, io.EOF })
		return err
	}
	var others string
	r.until("another's connection is idle", func() bool {
		before := others
		_, others = r.get("GET", "/sandbox/x", r.bearer())
		return others == before
	})
	if err := one(func() {}); err != errNoneLeft || own != 1 || dialled != 0 {
		t.Errorf("at its share: %v, closed its own %d times, dialled %d times", err, own, dialled)
	}
	if _, now := r.get("GET", "/sandbox/x", r.bearer()); now != others {
		t.Error("another's idle connection was closed")
	}
	if err := one(func() { part.Give(dialCost) }); err != io.EOF || own != 2 || dialled != 1 {
		t.Errorf("once its own made room: %v, closed its own %d times, dialled %d times", err, own, dialled)
	}
}

// A session's requests and its ways out to hosts are one user of the connections.
func TestH15OnePartASession(t *testing.T) {
	r := newRig(t, recordTo(nil))
	r.proxy.out = descriptors.NewPool(16)
	session, _, err := r.proxy.CreateForLaunch(Launch{ClientID: "claude-code", Hosts: reach.Hosts{{}}})
	if err != nil {
		t.Fatal(err)
	}
	for session.Out.part.Take(1) {
	}
	_, err = session.upstream.DialContext(t.Context(), "tcp", r.addr)
	if err != errNoneLeft {
		t.Errorf("its egress has all that it may have, and a request got %v", err)
	}
}

// A session's listener ends with it, also while a connection waits for a place among those of all others.
func TestH15ListenerEndsWhileItWaits(t *testing.T) {
	r := newRig(t, recordTo(nil))
	crowded := &Proxy{crowd: r.proxy.crowd}
	for all := newListener(nil, crowded, false, nil); ; {
		c := &conn{listener: all}
		all.crowd.mu.Lock()
		full := all.crowd.open == all.crowd.limit
		all.crowd.mu.Unlock()
		if all.limit = all.crowd.limit; full {
			break
		}
		all.enter(c)
		all.busy(c)
	}
	own := listenLoopback(t)
	waits := dialRaw(t, own.Addr().String())
	defer waits.Close()
	served := make(chan error, 1)
	go func() { served <- r.proxy.ServeSession(own, r.session.ID, nil) }()
	r.until("the listener is served", func() bool { r.proxy.mu.Lock(); defer r.proxy.mu.Unlock(); return r.proxy.owns[r.session.ID] != nil })
	r.proxy.CloseSession(r.session.ID)
	if err := <-served; err != nil {
		t.Errorf("ServeSession: %v", err)
	}
}
