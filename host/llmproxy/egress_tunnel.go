package llmproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hostshim/host/reach"
)

// tunnel is what a CONNECT opens. It keeps nothing of net/http: hundreds may be open, and idle.
type tunnel struct {
	egress *Egress
	host   reach.Host
	conn   *conn
	client net.Conn // conn's own, which the kernel can move bytes of
	early  []byte   // what came with the request
	line   line
	last   atomic.Int64 // when a byte last moved, or a side ended, in nanoseconds since 1970
	half   atomic.Bool  // one side has ended

	mu     sync.Mutex
	remote net.Conn
	ended  bool
}

// connect opens a tunnel, or refuses it.
func (x *exchange) connect() {
	e := x.egress
	host, no := e.admit(&x.line, x.r.RequestURI, 0)
	switch {
	case no != nil:
	case x.r.ContentLength != 0:
		no = refuseBodied
	case e.tunnels.Add(1) > maxTunnels:
		e.tunnels.Add(-1)
		no = refuseTunnels
	}
	c, buffered, err := x.rc.Hijack()
	own, ok := c.(*conn)
	if err != nil || !ok {
		panic(http.ErrAbortHandler)
	}
	t := &tunnel{egress: e, host: host, conn: own, client: own.Conn, line: x.line}
	if no != nil {
		record(e.proxy, &t.line, t.refuse, no)
		own.Close()
		return
	}
	t.early, _ = buffered.Reader.Peek(buffered.Reader.Buffered())
	t.early = bytes.Clone(t.early)
	e.proxy.addServing(1) // from here to the goroutine's own
	go func() {
		defer e.proxy.addServing(-1)
		record(e.proxy, &t.line, (*tunnel).serve, t)
	}()
}

// refuse answers before the tunnel is one. Some clients show the reason phrase and nothing else.
func (t *tunnel) refuse(no *refusal) {
	t.line.answered(no)
	body := no.body()
	answer := fmt.Appendf(nil, "HTTP/1.1 %d %s: %.300s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		no.status, http.StatusText(no.status), no.message, len(body), body)
	t.client.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := t.client.Write(answer); err != nil {
		t.line.canceled()
	}
	t.conn.drain()
}

// serve holds the tunnel from its opening to its end. Opening takes much stack, which an own goroutine gives back.
func (t *tunnel) serve() {
	defer t.egress.tunnels.Add(-1)
	defer t.closed()
	defer t.cut()
	stop := context.AfterFunc(t.egress.ctx, t.cut)
	defer stop()
	opened := make(chan bool)
	go func() {
		ok := false
		defer func() {
			if p := recover(); p != nil {
				t.egress.proxy.config.Log.Error("a tunnel's opening failed", "error", fmt.Sprint(p))
			}
			opened <- ok
		}()
		ok = t.open()
	}()
	if <-opened {
		t.relay()
	}
}

// cut closes both ends. It may be called at any time, and more than once.
func (t *tunnel) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.conn.Close()
	if t.remote != nil {
		t.remote.Close()
	}
}

// closed gives back what its connection to the host took.
func (t *tunnel) closed() {
	if t.remote != nil {
		t.egress.part.Give(1)
	}
}

// open connects to the host, says so, and passes on the first bytes.
func (t *tunnel) open() bool {
	ctx, cancel := context.WithTimeout(t.egress.ctx, connectTimeout)
	defer cancel()
	remote, err := t.egress.proxy.makeOne(t.egress.part, t.egress.closeIdle, func() (net.Conn, error) { return t.egress.dial(ctx, t.host) })
	if err != nil {
		t.refuse(unreachable(t.host.String(), err))
		return false
	}
	t.mu.Lock()
	t.remote = remote
	if t.ended {
		remote.Close()
	}
	t.mu.Unlock()
	t.line.status = http.StatusOK
	t.client.SetDeadline(time.Now().Add(helloTimeout))
	if _, err := io.WriteString(t.client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		t.line.canceled()
		return false
	}
	if t.host.Port == reach.TLSPort {
		early := bytes.NewReader(t.early)
		seen, code, err := readHello(t.client, io.MultiReader(early, t.client), t.host)
		if err != nil {
			t.line.code = code
			if alert := alerts[code]; alert != nil {
				t.client.SetWriteDeadline(time.Now().Add(lingerTime)) // the one of the ClientHello may be over
				t.client.Write(alert)
				t.conn.drain()
			}
			return false
		}
		rest := t.early[len(t.early)-early.Len():]
		t.early = append(seen, rest...)
	}
	if len(t.early) > 0 {
		remote.SetWriteDeadline(time.Now().Add(idleTunnel))
		n, err := remote.Write(t.early)
		if t.line.in, t.early = int64(n), nil; err != nil {
			return false
		}
	}
	t.client.SetDeadline(time.Time{})
	return true
}

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
	for {
		within, err := t.await(from)
		if err != nil {
			return err
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
	}
}

// copy has the kernel move the bytes, through two descriptors more, while there are many.
func (t *tunnel) copy(to, from net.Conn) (int64, error) {
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
	return raw.Read(func(fd uintptr) bool {
		for {
			_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			if err != syscall.EINTR {
				return err != syscall.EAGAIN // an error is one that the next read reports
			}
		}
	})
}
