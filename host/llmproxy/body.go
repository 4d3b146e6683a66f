package llmproxy

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

var errBodyOver = errors.New("request body read after its request was over")

// requestBody is the client's body. The transport reads it from a goroutine that may outlive the answer.
type requestBody struct {
	source io.Reader
	owner  *exchange
	ended  atomic.Bool // the end was seen
	over   atomic.Bool // no further read

	failure atomic.Pointer[error] // why a read failed, other than by the end

	mu      sync.Mutex // held through a read, which may wait for the client without limit
	started bool
	count   int64
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over.Load() {
		return 0, errBodyOver
	}
	if !b.started {
		b.started = true
		b.owner.proceed()
	}
	n, err := b.source.Read(p)
	b.count += int64(n)
	switch {
	case err == io.EOF:
		if !b.ended.Load() {
			b.owner.sentAll()
			b.ended.Store(true)
		}
	case err != nil:
		failure := err // err itself would go to the heap at each read
		b.failure.Store(&failure)
	}
	return n, err
}

// Close is how the transport says that it needs no more. The server closes the source.
func (b *requestBody) Close() error {
	b.over.Store(true)
	return nil
}

// received waits for a read in progress and returns how many bytes came.
func (b *requestBody) received() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// pending reports whether the client may still have some of its body to send.
func pending(r *http.Request, b *requestBody) bool {
	return r.ContentLength != 0 && !b.ended.Load()
}

// Copying starts with a small buffer, which an idle stream keeps. While the data fills the buffer, a larger one takes
// its place.
const (
	idleBuffer  = 1 << 10 // most events of a stream fit
	shortBuffer = 4 << 10 // an answer of a known, modest length
	largeBuffer = 64 << 10
)

type buffer struct{ bytes []byte }

// buffers are the pools, by increasing size.
var buffers = [...]sync.Pool{
	{New: func() any { return &buffer{make([]byte, idleBuffer)} }},
	{New: func() any { return &buffer{make([]byte, shortBuffer)} }},
	{New: func() any { return &buffer{make([]byte, largeBuffer)} }},
}

const largest = len(buffers) - 1

// copyBuffer is the buffer of one copy in progress. Its size is the index of the pool that it came from.
type copyBuffer struct {
	held *buffer
	size int
}

// next returns the buffer for the next read. The last read returned n bytes.
func (c *copyBuffer) next(n int) []byte {
	size := c.size
	switch {
	case c.held == nil:
	case n == len(c.held.bytes) && size < largest:
		size++
	case n < len(c.held.bytes) && size > 0:
		size = 0
	}
	if c.held == nil || size != c.size {
		c.release()
		c.held, c.size = buffers[size].Get().(*buffer), size
	}
	return c.held.bytes
}

func (c *copyBuffer) release() {
	if c.held != nil {
		buffers[c.size].Put(c.held)
		c.held = nil
	}
}

// flushDelay is how long the header of a short answer may wait for the body, so that both go out in one piece.
const flushDelay = 2 * time.Millisecond

// flusher flushes an answer after flushDelay, unless it is stopped first. Until it is stopped nothing else may write the
// answer.
type flusher struct {
	timer *time.Timer
	mu    sync.Mutex
	rc    *http.ResponseController
}

var flushers = sync.Pool{New: func() any {
	f := &flusher{}
	f.timer = time.AfterFunc(time.Hour, f.flush)
	f.timer.Stop()
	return f
}}

func flushSoon(rc *http.ResponseController) *flusher {
	f := flushers.Get().(*flusher)
	f.mu.Lock()
	f.rc = rc
	f.mu.Unlock()
	f.timer.Reset(flushDelay)
	return f
}

func (f *flusher) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rc != nil { // nil: it was stopped a moment ago
		f.rc.Flush()
	}
}

// stop returns once no flush runs and none will. A timer that has fired already may flush the next answer of the same
// flusher early. That is harmless, because nothing else writes that answer either.
func (f *flusher) stop() {
	f.timer.Stop()
	f.mu.Lock()
	f.rc = nil
	f.mu.Unlock()
	flushers.Put(f)
}
