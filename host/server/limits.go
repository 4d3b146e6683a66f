package server

import (
	"container/list"
	"net"
	"sync"
	"syscall"
	"time"

	"hostshim/host/wire"
)

// What keeps status, ps and stop answering, whatever clients and sessions do (H15).
const (
	maxBodies   = 64 << 20 // of memory for all request bodies together, in bytes
	bodyCopies  = 3        // a body, its members, and what is parsed out of these
	smallBody   = 64 << 10 // needs no place among the others
	maxWaiting  = 128      // connections whose request has not begun; the oldest one makes place
	launchSpare = 64       // descriptors that launches leave to everything else
	connSpare   = 32       // descriptors that waiting connections leave to new ones
	// A peer that was refused is refused again for so long without another look: looking takes most of the time.
	refusedFor = 100 * time.Millisecond
)

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

// waiting is the connections whose next request has not begun, oldest first.
type waiting struct {
	mu    sync.Mutex
	conns list.List
	limit int // of the process's descriptors
}

// add lists a connection, and closes the oldest ones where there are too many, or few descriptors are left.
func (w *waiting) add(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.place = w.conns.PushBack(c)
	for w.conns.Len() > maxWaiting || w.conns.Len() > 1 && descriptor(c.UnixConn) > w.limit-connSpare {
		oldest := w.conns.Front().Value.(*caller)
		w.conns.Remove(oldest.place)
		oldest.place = nil
		oldest.UnixConn.Close()
		if w.conns.Len() <= maxWaiting/2 {
			break
		}
	}
}

// begin takes a connection off the list: its request has come.
func (w *waiting) begin(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.place != nil {
		w.conns.Remove(c.place)
		c.place = nil
	}
}

// descriptorLimit is how many descriptors this process may have.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<30))
}

// descriptor is the number of a connection. The lowest free one is taken, so it says how many are in use.
func descriptor(conn *net.UnixConn) (n int) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

// roomForLaunch says whether a launch would leave enough descriptors.
func roomForLaunch() error {
	n, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return errBusy
	}
	syscall.Close(n)
	if n > descriptorLimit()-launchSpare {
		return errBusy
	}
	return nil
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
