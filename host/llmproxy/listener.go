package llmproxy

import (
	"net"
	"sync"

	"hostshim/host/descriptors"
)

// Bounds of the connections of one listener, where the share of descriptors allows them.
const (
	maxConns        = 4096
	maxSessionConns = 1024
)

// crowd is the open connections of all of a proxy's listeners, and bounds them together (H15).
type crowd struct {
	limit int

	mu        sync.Mutex
	change    sync.Cond // of conns or closed of a listener
	open      int
	listeners map[*listener]bool // those with connections
	turn      uint64
}

func newCrowd(limit int) *crowd {
	c := &crowd{limit: limit, listeners: map[*listener]bool{}}
	c.change.L = &c.mu
	return c
}

// listener bounds its open connections (P14). An open connection costs its client nothing, so at the limit a new one
// takes the place of an idle one: the one whose last request ended first. While every connection serves a request, the
// new one waits.
type listener struct {
	net.Listener
	proxy *Proxy
	crowd *crowd
	limit int
	half  bool    // it is one session's
	out   *Egress // of the listener's one session; nil: it has none

	// Under the crowd's lock.
	conns  map[*conn]uint64 // the open ones, each with the value of turn when it became idle; 0: it serves a request
	closed bool
}

func newListener(l net.Listener, p *Proxy, session bool, out *Egress) *listener {
	limit := min(maxConns, max(1, p.crowd.limit-p.crowd.limit/4)) // what is busy for ever on the shared one leaves sessions theirs
	if session {
		limit = maxSessionConns
	}
	return &listener{Listener: l, proxy: p, crowd: p.crowd, limit: limit, half: session, out: out, conns: map[*conn]uint64{}}
}

// room is how many connections l may have now. One session's are at most half of what all others leave, and one at least.
func (l *listener) room() int {
	if !l.half {
		return l.limit
	}
	left := l.crowd.limit - (l.crowd.open - len(l.conns))
	return min(l.limit, max(1, left/2))
}

func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		if descriptors.None(err) { // somebody takes more than a share
			l.crowd.relieve()
		}
		return nil, err
	}
	c := &conn{Conn: nc, proxy: l.proxy, listener: l, fresh: true}
	replaced, ok := l.enter(c)
	if !ok {
		nc.Close()
		return nil, net.ErrClosed
	}
	if replaced != nil {
		replaced.Conn.Close() // its descriptor is free now; net/http notices, and closes the rest
	}
	return c, nil
}

// enter adds c once there is room, and returns the connection that has to make room. It returns false if the listener
// was closed meanwhile.
func (l *listener) enter(c *conn) (replaced *conn, ok bool) {
	all := l.crowd
	all.mu.Lock()
	defer all.mu.Unlock()
	for replaced == nil && !l.closed {
		if len(l.conns) >= l.room() {
			replaced = l.longestIdle()
		} else if all.open >= all.limit {
			replaced = all.longestIdle()
		} else {
			break
		}
		if replaced == nil {
			all.change.Wait()
		}
	}
	if replaced != nil {
		replaced.listener.remove(replaced)
	}
	if l.closed {
		return replaced, false
	}
	all.turn++
	all.open++
	all.listeners[l] = true
	l.conns[c] = all.turn
	return replaced, true
}

// longestIdle returns nil if no connection is idle. It looks at all of them, but only a full listener calls it.
func (l *listener) longestIdle() (oldest *conn) {
	for c, since := range l.conns {
		if since > 0 && (oldest == nil || since < l.conns[oldest]) {
			oldest = c
		}
	}
	return oldest
}

// longestIdle is one of the listener that has most connections: whoever takes many pays for them.
func (c *crowd) longestIdle() (oldest *conn) {
	most := 0
	for l := range c.listeners {
		if len(l.conns) > most {
			if idle := l.longestIdle(); idle != nil {
				oldest, most = idle, len(l.conns)
			}
		}
	}
	return oldest
}

// relieve closes an idle connection.
func (c *crowd) relieve() {
	c.mu.Lock()
	idle := c.longestIdle()
	if idle != nil {
		idle.listener.remove(idle)
	}
	c.mu.Unlock()
	if idle != nil {
		idle.Conn.Close()
	}
}

// remove forgets a connection. The caller has the lock.
func (l *listener) remove(c *conn) {
	if _, open := l.conns[c]; !open {
		return
	}
	delete(l.conns, c)
	l.crowd.open--
	if len(l.conns) == 0 {
		delete(l.crowd.listeners, l)
	}
	l.crowd.change.Broadcast()
}

func (l *listener) Close() error {
	l.crowd.mu.Lock()
	l.closed = true
	l.crowd.change.Broadcast()
	l.crowd.mu.Unlock()
	return l.Listener.Close()
}

// busy notes that c serves a request.
func (l *listener) busy(c *conn) {
	l.crowd.mu.Lock()
	defer l.crowd.mu.Unlock()
	if _, open := l.conns[c]; open {
		l.conns[c] = 0
	}
}

// idle notes that c has answered its request.
func (l *listener) idle(c *conn) {
	l.crowd.mu.Lock()
	defer l.crowd.mu.Unlock()
	if since, open := l.conns[c]; open && since == 0 {
		l.crowd.turn++
		l.conns[c] = l.crowd.turn
		l.crowd.change.Broadcast()
	}
}

// leave notes that c is closed.
func (l *listener) leave(c *conn) {
	l.crowd.mu.Lock()
	defer l.crowd.mu.Unlock()
	l.remove(c)
}
