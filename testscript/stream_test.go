package testscript

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxStream is how much of one stream is kept; more is read, so that nobody blocks, and dropped.
const maxStream = 8 << 20

// A stream collects what arrives at one of the script's own descriptors, which does not block.
type stream struct {
	mu   sync.Mutex
	file *os.File
	conn syscall.RawConn
	buf  []byte
	seen int // waitfor on a terminal goes on from here
	eof  bool
	over bool // the script wants no more
}

func newStream(file *os.File) *stream {
	st := &stream{file: file}
	var err error
	if st.conn, err = file.SyscallConn(); err != nil {
		st.eof = true
		return st
	}
	go st.conn.Read(func(fd uintptr) bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.fill(int(fd))
		return st.eof || st.over
	})
	return st
}

// fill takes what is there, without waiting. A terminal whose last program is gone answers EIO.
func (st *stream) fill(fd int) {
	chunk := make([]byte, 32<<10)
	for !st.eof && !st.over {
		n, err := syscall.Read(fd, chunk)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			return
		}
		if n <= 0 {
			st.eof = true
			return
		}
		if keep := maxStream - len(st.buf); keep > 0 {
			st.buf = append(st.buf, chunk[:min(n, keep)]...)
		}
	}
}

// text is all that has arrived by now: what a program wrote before it ended is in it once the end is known.
func (st *stream) text() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn != nil {
		st.conn.Control(func(fd uintptr) { st.fill(int(fd)) })
	}
	return string(st.buf)
}

func (st *stream) ended() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.eof
}

func (st *stream) close() {
	st.mu.Lock()
	st.over = true // before Close, which waits for the reader, which waits for the lock
	st.mu.Unlock()
	betweenStarts(func() { st.file.Close() })
}

var errTimeout = errors.New("timed out")

// poll asks until done says yes, at most for the time of one command.
func (s *script) poll(done func() (bool, error)) error {
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(s.timeout)
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errTimeout
		}
		<-tick.C
	}
}
