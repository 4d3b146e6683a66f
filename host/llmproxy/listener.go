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

// listener hands out connections that know their proxy, a bounded number at a time. At the bound a new one takes the
// place of the one that has gone longest without a request that anybody works on: connections which are merely open
// cost whoever opens them nothing, and must keep nobody else out (P14). While all are being worked on the new one waits.
type listener struct {
	net.Listener
	proxy *Proxy
	limit int

	mu     sync.Mutex
	change sync.Cond // of anything below
	open   int
	idle   queue
	closed bool
}

// queue is connections without a request, the longest idle first. A list of package container would allocate at each
// request.
type queue struct{ first, last *conn }

// place is where a connection stands in a queue.
type place struct {
	waiting    bool
	prev, next *conn
}

func (q *queue) push(c *conn) {
	c.place = place{waiting: true, prev: q.last}
	if q.last != nil {
		q.last.next = c
	} else {
		q.first = c
	}
	q.last = c
}

// remove takes c out, if it is in there.
func (q *queue) remove(c *conn) {
	if !c.waiting {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		q.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		q.last = c.prev
	}
	c.place = place{}
}

func newListener(l net.Listener, p *Proxy, limit int) *listener {
	own := &listener{Listener: l, proxy: p, limit: limit}
	own.change.L = &own.mu
	return own
}

func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, proxy: l.proxy, listener: l, fresh: true}
	oldest, ok := l.enter(c)
	if !ok {
		nc.Close()
		return nil, net.ErrClosed
	}
	if oldest != nil {
		oldest.Conn.Close() // net/http sees it, and closes the rest
	}
	return c, nil
}

// enter counts c once there is room, and returns the connection that has to make it; false when the listener was
// closed meanwhile.
func (l *listener) enter(c *conn) (oldest *conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.limit && l.idle.first == nil && !l.closed {
		l.change.Wait()
	}
	if l.closed {
		return nil, false
	}
	if l.open >= l.limit {
		oldest = l.idle.first
		l.drop(oldest)
	}
	l.open++
	l.idle.push(c)
	return oldest, true
}

func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// works notes that c has a request with a handler.
func (l *listener) works(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle.remove(c)
}

// waits notes that c has none any more.
func (l *listener) waits(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.gone && !c.waiting {
		l.idle.push(c)
		l.change.Broadcast()
	}
}

// leave notes that c is closed.
func (l *listener) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(c)
}

// drop takes c out of the count, once. The caller has the lock.
func (l *listener) drop(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	l.idle.remove(c)
	l.open--
	l.change.Broadcast()
}
