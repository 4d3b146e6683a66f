// Package descriptors shares out the descriptors that this process may have, so that whoever takes too many leaves the
// others theirs (H15).
package descriptors

import (
	"errors"
	"sync"
	"syscall"
)

// Reserve is for what no share counts: the host's own files, what a request or a launch opens for a moment, and the
// connection that each listener has just accepted.
const Reserve = 40

// Shares are numbers of descriptors. With the Reserve they are all that the process may have.
type Shares struct {
	API      int // connections to the host's socket
	Clients  int // connections of the model proxy's clients
	Upstream int // connections that the proxy makes for them
	Sessions int // what launches and sessions hold themselves
}

// Share divides up a limit. Of one that is smaller than the Reserve nothing is left.
func Share(limit int) Shares {
	free := max(0, limit-Reserve)
	s := Shares{API: free / 8, Clients: free / 4, Upstream: free / 8}
	s.Sessions = free - s.API - s.Clients - s.Upstream
	return s
}

// Own are the shares of this process.
func Own() Shares {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = 1024
	}
	return Share(int(min(limit.Cur, 1<<20)))
}

// None says whether an error is that no descriptor was left.
func None(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// Pool is a share that is taken from one by one. Its methods may be called from any goroutine.
type Pool struct {
	mu   sync.Mutex
	free int
	size int
}

// NewPool makes a pool of so many.
func NewPool(size int) *Pool { return &Pool{free: size, size: size} }

// Take takes n, or nothing where fewer are left.
func (p *Pool) Take(n int) bool { return p.take(n, 0) }

// TakeSpare takes n for something that can be done without, and leaves half of the pool to the rest.
func (p *Pool) TakeSpare(n int) bool { return p.take(n, p.size/2) }

func (p *Pool) take(n, leave int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free-n < leave {
		return false
	}
	p.free -= n
	return true
}

// Short says whether fewer than n are left.
func (p *Pool) Short(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free < n
}

// Give gives n back.
func (p *Pool) Give(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += n
}

// Part is what one of many users takes of a pool: its first take is any, and beyond that it has at most half of what the
// others leave. So one that takes all it can leaves as much again, and the next one half of that.
type Part struct {
	pool *Pool
	mine int // under the pool's lock
}

// Part is a new user's, who has taken nothing yet.
func (p *Pool) Part() *Part { return &Part{pool: p} }

// Take takes n, or nothing where the pool or the part has fewer left.
func (t *Part) Take(n int) bool {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free < n || t.mine > 0 && t.mine+n > (p.free+t.mine)/2 {
		return false
	}
	p.free -= n
	t.mine += n
	return true
}

// Give gives n back.
func (t *Part) Give(n int) {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.pool.free += n
	t.mine -= n
}
