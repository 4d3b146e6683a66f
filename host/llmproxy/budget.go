package llmproxy

import "sync"

// The memory of headers that are still being read is bounded over all connections (P14). A header of usual size is in
// net/http's own buffer and costs nothing here.
const (
	usualHeader = 4 << 10
	maxHeaders  = 8 << 20
)

// headerBudget counts the bytes of headers that are still being read. An honest client sends its header at once, so
// when there are too many bytes, the connections that have held some for longest are closed.
type headerBudget struct {
	mu   sync.Mutex
	used int
	held map[*conn]holding
	turn uint64
}

type holding struct {
	bytes int
	since uint64 // the value of turn when the connection began to hold any
}

// take counts n bytes more of c's header.
func (b *headerBudget) take(c *conn, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.held[c]
	if !ok {
		b.turn++
		h.since = b.turn
	}
	h.bytes += n
	b.used += n
	if b.held == nil {
		b.held = map[*conn]holding{}
	}
	b.held[c] = h
	for b.used > maxHeaders {
		oldest := c
		for other, h := range b.held {
			if h.since < b.held[oldest].since {
				oldest = other
			}
		}
		b.drop(oldest)
		oldest.Conn.Close() // net/http notices, and closes the rest
	}
}

// release notes that c's header is complete, or that c is closed.
func (b *headerBudget) release(c *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(c)
}

func (b *headerBudget) drop(c *conn) {
	b.used -= b.held[c].bytes
	delete(b.held, c)
}
