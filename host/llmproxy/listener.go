package llmproxy

import (
	"net"
	"sync"
)

// Bounds of the connections of one listener.
const (
	maxConns        = 4096
	maxSessionConns = 1024
)

func connLimit(only string) int {
	if only == "" {
		return maxConns
	}
	return maxSessionConns
}

// listener bounds its open connections (P14). An open connection costs its client nothing, so at the limit a new one
// takes the place of an idle one: the one whose last request ended first. While every connection serves a request, the
// new one waits.
type listener struct {
	net.Listener
	proxy *Proxy
	limit int
	out   *Egress // of the listener's one session; nil: it has none

	mu     sync.Mutex
	change sync.Cond        // of conns or closed
	conns  map[*conn]uint64 // the open ones, each with the value of turn when it became idle; 0: it serves a request
	turn   uint64
	closed bool
}

func newListener(l net.Listener, p *Proxy, limit int, out *Egress) *listener {
	own := &listener{Listener: l, proxy: p, limit: limit, out: out, conns: map[*conn]uint64{}}
	own.change.L = &own.mu
	return own
}

func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, proxy: l.proxy, listener: l, fresh: true}
	replaced, ok := l.enter(c)
	if !ok {
		nc.Close()
		return nil, net.ErrClosed
	}
	if replaced != nil {
		replaced.Conn.Close() // net/http notices, and closes the rest
	}
	return c, nil
}

// enter adds c once there is room, and returns the connection that has to make room. It returns false if the listener
// was closed meanwhile.
func (l *listener) enter(c *conn) (replaced *conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) >= l.limit && !l.closed {
		if replaced = l.longestIdle(); replaced != nil {
			delete(l.conns, replaced)
			break
		}
		l.change.Wait()
	}
	if l.closed {
		return replaced, false
	}
	l.turn++
	l.conns[c] = l.turn
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

func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// busy notes that c serves a request.
func (l *listener) busy(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.conns[c]; open {
		l.conns[c] = 0
	}
}

// idle notes that c has answered its request.
func (l *listener) idle(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since, open := l.conns[c]; open && since == 0 {
		l.turn++
		l.conns[c] = l.turn
		l.change.Broadcast()
	}
}

// leave notes that c is closed.
func (l *listener) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	l.change.Broadcast()
}
