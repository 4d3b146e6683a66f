package llmproxy

import (
	"errors"
	"io"
	"math"
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

// burst is how long a direction may move bytes before it gives back what that takes: two pipes of the kernel's, which
// splice moves them through.
const burst = time.Second

// move moves bytes in one direction. While there are none it holds no buffer.
func (t *tunnel) move(to, from net.Conn, count *int64) (err error) {
	defer func() {
		if err != nil {
			t.cut() // ends the other direction
		}
	}()
	for f := (flow{after: flowBytes}); ; {
		within, limit := flowBurst, int64(math.MaxInt64)
		if !f.on {
			limit = f.after
			if within, err = t.await(from); err != nil {
				return err
			}
		}
		began := time.Now()
		from.SetReadDeadline(began.Add(within))
		to.SetWriteDeadline(began.Add(idleTunnel))
		n, err := t.copy(to, io.LimitReader(from, limit))
		took := time.Since(began)
		if *count += n; n > 0 {
			t.touch()
		}
		switch {
		case err == nil && n < limit:
			t.touch() // the minute counts from here
			t.half.Store(true)
			to.SetReadDeadline(began) // wakes the other direction, whose wait is shorter now
			return closeWrite(to)
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case took >= idleTunnel:
			return errIdle // nobody reads what is sent
		}
		f.moved(from, n, took)
	}
}

// copy has the kernel move the bytes, through two descriptors more, while there are many.
func (t *tunnel) copy(to net.Conn, from io.Reader) (int64, error) {
	if out := t.egress.proxy.out; out.TakeSpare(2) {
		defer out.Give(2)
		return io.Copy(to, from)
	}
	return io.Copy(struct{ io.Writer }{to}, from)
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
			return min(left, burst), nil // TLS, to the host's own proxy: only a read tells
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
	var failed error // a look takes an error away: the next read would be at the end
	err = raw.Read(func(fd uintptr) bool {
		for {
			_, _, failed = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			if failed != syscall.EINTR {
				return failed != syscall.EAGAIN
			}
		}
	})
	if err != nil {
		return err
	}
	return failed
}
