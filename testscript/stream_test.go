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

// A stream collects what arrives at one of the script's own descriptors.
type stream struct {
	mu     sync.Mutex
	file   *os.File
	fd     int
	buf    []byte
	seen   int // waitfor on a terminal goes on from here
	eof    bool
	closed bool
}

// newStream reads fd, which becomes non-blocking: that changes this end alone, the child's end is another
// open file.
func newStream(file *os.File, fd int) *stream {
	st := &stream{file: file, fd: fd}
	conn, err := file.SyscallConn()
	if err != nil {
		st.eof = true
		return st
	}
	go conn.Read(func(uintptr) bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.fill()
		return st.eof || st.closed
	})
	return st
}

// ownEnd makes fd the script's own: closed across exec already, non-blocking from now on.
func ownEnd(fd int) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "end"), nil
}

// fill takes what is there, without waiting. A terminal whose last program is gone answers EIO.
func (st *stream) fill() {
	chunk := make([]byte, 32<<10)
	for !st.eof && !st.closed {
		n, err := syscall.Read(st.fd, chunk)
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
	st.fill()
	return string(st.buf)
}

func (st *stream) ended() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.eof
}

func (st *stream) close() {
	st.mu.Lock()
	st.closed = true // before Close, which waits for the reader, which waits for the lock
	st.mu.Unlock()
	st.file.Close()
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
