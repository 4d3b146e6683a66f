package llmproxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
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
