package llmproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

var errIdle = errors.New("no byte moved for too long")

// relay moves bytes both ways until both sides have ended, one breaks off, or neither has sent for long.
func (t *tunnel) relay() {
	t.touch()
	back := make(chan error, 1)
	go func() { back <- t.move(t.client, t.remote, &t.line.out) }()
	err := t.move(t.remote, t.client, &t.line.in)
	err = errors.Join(err, <-back)
	switch {
	case err == nil:
		t.line.outcome = outcomeComplete
	case t.egress.ctx.Err() != nil:
		t.line.code = refuseEnded.code
	case errors.Is(err, errIdle):
		t.line.code = "idle_timeout"
	}
}

func (t *tunnel) touch() { t.last.Store(time.Now().UnixNano()) }

// deadline is when the tunnel ends if no byte moves until then.
func (t *tunnel) deadline() time.Time {
	limit := idleTunnel
	if t.half.Load() {
		limit = halfTunnel
	}
	return time.Unix(0, t.last.Load()).Add(limit)
}

// burst is how long a direction moves bytes before it looks at how that goes, and gives back what it takes: two pipes of the
// kernel's, which splice moves them through. Where only a read tells whether there are bytes it is longBurst.
const (
	burst     = 4 * time.Millisecond
	longBurst = time.Second
)

// move moves bytes in one direction. While there are none it holds no buffer.
func (t *tunnel) move(to, from net.Conn, count *int64) (err error) {
	defer func() {
		if err != nil {
			t.cut() // ends the other direction
		}
	}()
	for flow := int64(0); ; {
		within := burst
		if flow < flowBytes {
			if within, err = t.await(from); err != nil {
				return err
			}
		}
		began := time.Now()
		from.SetReadDeadline(began.Add(within))
		to.SetWriteDeadline(began.Add(idleTunnel))
		n, err := t.copy(to, from)
		if *count += n; n > 0 {
			t.touch()
		}
		switch {
		case err == nil:
			t.touch() // the minute counts from here
			t.half.Store(true)
			to.SetReadDeadline(t.deadline())
			return closeWrite(to)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case time.Since(began) >= idleTunnel:
			return errIdle // nobody reads what is sent
		}
		flow = flows(from, flow, n)
	}
}

// A sender about as fast as this program wakes it for each write, and that takes both, and the reader, more time than the
// bytes do. So after flowBytes, in bursts of flowLeast or more, no less than flowBatch wakes it until a burst brings less
// than flowLeast. The last bytes wait for the end of theirs.
const (
	flowBytes = 32 << 20
	flowLeast = 1 << 20
	flowBatch = 2 << 20
)

// flows returns what has come in such bursts, after one of n bytes.
func flows(from net.Conn, before, n int64) (now int64) {
	tcp, ok := from.(*net.TCPConn)
	if ok && n >= flowLeast {
		now = before + n
	}
	if on := now >= flowBytes; on != (before >= flowBytes) {
		least := 1
		if on {
			least = flowBatch
		}
		if raw, err := tcp.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, least) })
		}
	}
	return now
}

// copy has the kernel move the bytes, through two descriptors more, while there are many.
func (t *tunnel) copy(to, from net.Conn) (int64, error) {
	if out := t.egress.proxy.out; out.TakeSpare(2) {
		defer out.Give(2)
		return io.Copy(to, from)
	}
	large := buffers[largest].Get().(*buffer)
	defer buffers[largest].Put(large)
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, large.bytes)
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// await waits until there is something to read, and returns for how long to go on then.
func (t *tunnel) await(c net.Conn) (within time.Duration, err error) {
	for {
		until := t.deadline()
		left := time.Until(until)
		tcp, ok := c.(*net.TCPConn)
		switch {
		case left <= 0:
			return 0, errIdle
		case !ok:
			return min(left, longBurst), nil // TLS, to the host's own proxy: only a read tells
		}
		tcp.SetReadDeadline(until)
		if t.deadline().Before(until) {
			continue // the other side ended just now, and its deadline was earlier
		}
		if err := awaitReadable(tcp); !errors.Is(err, os.ErrDeadlineExceeded) {
			return burst, err
		}
	}
}

// awaitReadable waits until a read would return something, the end of the stream included.
func awaitReadable(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var one [1]byte
	return raw.Read(func(fd uintptr) bool {
		for {
			_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			if err != syscall.EINTR {
				return err != syscall.EAGAIN // an error is one that the next read reports
			}
		}
	})
}
