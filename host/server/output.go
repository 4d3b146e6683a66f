package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxLog is how much of a session's output stays readable, in bytes (H07).
const maxLog = 100 << 10

// patience is how long a session's output waits at most, altogether and for all its readers, for those that have
// fallen a whole log behind; then they are dropped. A second of it comes back for each maxLog bytes written: a reader
// that takes 100 KiB a second is kept, even in steps as large as the buffer of a socket makes them, and readers,
// however many, add no more than that second to what each 100 KiB take.
const patience = 2 * time.Second

// perByte is how much of it each byte written brings back.
const perByte = time.Second / maxLog

var errTooSlow = errors.New("takes less than 100 KiB a second")

// output is what a session wrote: a ring of the last maxLog bytes, and a count of all. Readers hold a position in
// that count, so none sees a byte twice or misses one, and none costs memory of its own.
type output struct {
	mu      sync.Mutex
	ring    []byte // grows up to maxLog
	total   int64  // bytes ever written
	ended   bool
	wake    chan struct{} // closed at the next write or the end; nil: nobody waits
	room    chan struct{} // closed when a reader moves on; nil: the writer does not wait
	readers map[*reader]bool

	waited time.Duration // of patience, less what was written since brings back
}

// reader is one look at an output, from some position on.
type reader struct {
	out  *output
	at   int64
	slow bool // dropped
}

// Write appends p. It never fails, and waits no longer than patience has left.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece := p[:min(len(p), maxLog/4)]
		o.add(piece)
		p = p[len(piece):]
	}
	return n, nil
}

func (o *output) add(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.behind(len(p)) {
		if left := patience - o.waited; left > 0 {
			o.waitForReaders(left)
		} else {
			o.dropBehind(len(p))
		}
	}
	for _, b := range [2][]byte{p[:o.fits(p)], p[o.fits(p):]} {
		o.place(b)
	}
	if o.wake != nil {
		close(o.wake)
		o.wake = nil
	}
}

// fits is how much of p goes before the ring's end.
func (o *output) fits(p []byte) int { return min(len(p), maxLog-int(o.total%maxLog)) }

// place copies p, which does not cross the ring's end.
func (o *output) place(p []byte) {
	at := int(o.total % maxLog)
	if at+len(p) > len(o.ring) {
		larger := make([]byte, min(maxLog, max(5*len(o.ring), at+len(p), 4<<10))) // 4, 20, 100 KiB: little garbage
		copy(larger, o.ring)
		o.ring = larger
	}
	copy(o.ring[at:], p)
	o.total += int64(len(p))
	o.waited = max(0, o.waited-time.Duration(len(p))*perByte)
}

// behind says whether n more bytes would overwrite what a reader has yet to see.
func (o *output) behind(n int) bool {
	for r := range o.readers {
		if o.late(r, n) {
			return true
		}
	}
	return false
}

func (o *output) late(r *reader, n int) bool { return o.total+int64(n)-r.at > maxLog }

func (o *output) dropBehind(n int) {
	for r := range o.readers {
		if o.late(r, n) {
			r.slow = true
			delete(o.readers, r)
		}
	}
}

// waitForReaders gives the lock up until a reader moves on or patience is over.
func (o *output) waitForReaders(left time.Duration) {
	if o.room == nil {
		o.room = make(chan struct{})
	}
	room := o.room
	o.mu.Unlock()
	start := time.Now()
	timer := time.NewTimer(left)
	select {
	case <-room:
	case <-timer.C:
	}
	timer.Stop()
	o.mu.Lock()
	o.waited += time.Since(start)
}

// end says that nothing more comes.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.wake != nil {
		close(o.wake)
		o.wake = nil
	}
}

// read starts a reader at byte since of all, or the oldest one that is still there. It must be closed.
func (o *output) read(since int64) *reader {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &reader{out: o, at: o.from(since)}
	if o.readers == nil {
		o.readers = map[*reader]bool{}
	}
	o.readers[r] = true
	return r
}

// from is since, or the next byte to it that is there or comes next.
func (o *output) from(since int64) int64 { return min(max(since, o.total-maxLog), o.total) }

func (r *reader) close() {
	r.out.mu.Lock()
	defer r.out.mu.Unlock()
	delete(r.out.readers, r)
	r.out.hasRoom()
}

func (o *output) hasRoom() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// next copies what comes next into p, and 0 when there is nothing now. Done says that there will be nothing more.
func (r *reader) next(p []byte) (n int, done bool, err error) {
	o := r.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.slow {
		return 0, true, errTooSlow
	}
	for n < len(p) && r.at < o.total {
		at := int(r.at % maxLog)
		k := copy(p[n:], o.ring[at:min(len(o.ring), at+int(min(o.total-r.at, maxLog)))])
		n += k
		r.at += int64(k)
	}
	if n > 0 {
		o.hasRoom()
	}
	return n, o.ended && r.at == o.total, nil
}

// wait returns when there may be more to read.
func (r *reader) wait(ctx context.Context) error {
	o := r.out
	o.mu.Lock()
	if r.at < o.total || o.ended || r.slow {
		o.mu.Unlock()
		return nil
	}
	if o.wake == nil {
		o.wake = make(chan struct{})
	}
	wake := o.wake
	o.mu.Unlock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// snapshot is a copy of what is kept from byte since on, and where it begins.
func (o *output) snapshot(since int64) (p []byte, from int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from = o.from(since)
	at, kept := int(from%maxLog), int(o.total-from)
	p = make([]byte, 0, kept)
	p = append(p, o.ring[at:min(len(o.ring), at+kept)]...)
	return append(p, o.ring[:kept-len(p)]...), from
}

// size is how many bytes were ever written.
func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}
