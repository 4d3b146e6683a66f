package server

import (
	"container/list"
	"sync"
	"time"

	"hostshim/host/wire"
)

// What keeps status, ps and stop answering, whatever clients and sessions do (H15).
const (
	maxBodies   = 64 << 20 // of memory for all request bodies together, in bytes
	bodyCopies  = 3        // a body, its members, and what is parsed out of these
	smallBody   = 64 << 10 // needs no place among the others
	maxWaiting  = 128      // connections whose request has not come; the oldest one makes place
	launchCost  = 20       // descriptors that a launch takes for a moment: both ends of eight pipes, and files
	sessionCost = 8        // that a session holds, and its end for a moment
	// A peer that was refused is refused again for so long without another look: looking takes most of the time.
	refusedFor = 100 * time.Millisecond
)

var errFollowed = &wire.Error{Code: wire.Stopping, Message: "too many clients follow a session: end some, or raise the host's limit of descriptors (ulimit -n)"}

var errBusy = &wire.Error{Code: wire.SpawnFailed, Message: "too many descriptors are open in the host: end some sessions, or raise its limit (ulimit -n)"}

// bodies is the memory for request bodies that is in use.
type bodies struct {
	mu   sync.Mutex
	used int64
	free chan struct{} // closed when some is given back
}

// lease is memory that a request has taken.
type lease struct {
	from *bodies
	size int64
}

// take waits for memory for a body of that size, and says whether it got it in time.
func (b *bodies) take(size int64, within time.Duration) (l *lease, ok bool) {
	if l = (&lease{b, 0}); size <= smallBody {
		return l, true
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		b.mu.Lock()
		if b.used+size*bodyCopies <= maxBodies {
			l.size = size * bodyCopies
			b.used += l.size
			b.mu.Unlock()
			return l, true
		}
		if b.free == nil {
			b.free = make(chan struct{})
		}
		free := b.free
		b.mu.Unlock()
		select {
		case <-free:
		case <-timer.C:
			return nil, false
		}
	}
}

// shrink gives back what a body of that size does not need; 0 gives back all.
func (l *lease) shrink(size int64) {
	b := l.from
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := min(l.size, size*bodyCopies)
	b.used -= l.size - keep
	l.size = keep
	if b.free != nil {
		close(b.free)
		b.free = nil
	}
}

// callers are the connections of those who may call. One whose next request has not come, or not whole, makes place for a
// new one.
type callers struct {
	mu      sync.Mutex
	open    int
	limit   int
	waiting list.List // of *caller, the oldest first
}

// enter counts a connection. It closes the oldest waiting ones where there are too many, and returns false where that makes no place.
func (l *callers) enter(c *caller) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.limit || l.waiting.Len() >= maxWaiting {
		if !l.drop() {
			return false
		}
	}
	l.open++
	c.in = l
	c.place = l.waiting.PushBack(c)
	return true
}

// drop closes the connection that has waited longest. Its descriptor is free when drop returns. The caller has the lock.
func (l *callers) drop() bool {
	if l.waiting.Len() == 0 {
		return false
	}
	c := l.waiting.Front().Value.(*caller)
	l.forget(c)
	c.UnixConn.Close() // net/http notices, and closes the rest
	return true
}

func (l *callers) forget(c *caller) {
	l.waiting.Remove(c.place)
	c.place, c.in = nil, nil
	l.open--
}

// begin takes a connection off the list: its request has come.
func (l *callers) begin(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.place != nil {
		l.waiting.Remove(c.place)
		c.place = nil
	}
}

// wait puts a connection onto the list: its request is answered.
func (l *callers) wait(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.in != nil && c.place == nil {
		c.place = l.waiting.PushBack(c)
	}
}

// leave notes that a connection is closed.
func (l *callers) leave(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.place != nil:
		l.forget(c)
	case c.in != nil:
		c.in = nil
		l.open--
	}
}

// refusals remembers peers that were refused a moment ago, by process number.
type refusals struct {
	until map[int]refusal
}

type refusal struct {
	err error
	end time.Time
}

// judged is what is remembered of a peer, or else what judge says.
func (r *refusals) judged(pid int, judge func() error) error {
	now := time.Now()
	if old, ok := r.until[pid]; ok && now.Before(old.end) {
		return old.err
	}
	err := judge()
	if err != nil && pid > 0 {
		if r.until == nil || len(r.until) > 1000 {
			r.until = map[int]refusal{}
		}
		r.until[pid] = refusal{err, now.Add(refusedFor)}
	}
	return err
}
