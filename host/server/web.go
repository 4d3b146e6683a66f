package server

import (
	"container/list"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"hostshim/host/descriptors"
	"hostshim/host/wire"
)

// connKey is where a connection's peer is kept, from the moment it was accepted (H03).
type connKey struct{}

// caller is a connection, and what was found about its peer: nil lets its requests in.
type caller struct {
	*net.UnixConn
	refused error
	leave   func()        // gives its slot back; nil: it has none
	all     *callers      // nil: refused
	in      *callers      // where it is counted; nil: nowhere, it is closed
	place   *list.Element // among those that wait; nil: its request has come
}

func (c *caller) Close() error {
	err := c.UnixConn.Close()
	if c.leave != nil {
		c.leave()
	}
	if c.all != nil {
		c.all.leave(c)
	}
	return err
}

// maxRefused is how many connections of peers that may not call are served at a time, a quarter of all at most. Further
// ones get their answer before they ask. Without a limit one session could hold all of the host's descriptors.
const maxRefused = 32

// connBuffer is about how many bytes of an answer the kernel holds before its client reads them. It is small, so that the
// host sees how fast a client reads a session's output.
const connBuffer = 32 << 10

// peerListener judges the peer of each connection as it comes.
type peerListener struct {
	*net.UnixListener
	judge        func(*net.UnixConn) error
	refusedSlots chan struct{} // one element for each connection of a refused peer
	refusals     refusals
	callers      callers
}

// newPeerListener bounds the connections to share.
func newPeerListener(l *net.UnixListener, judge func(*net.UnixConn) error, share int) *peerListener {
	slots := min(maxRefused, share/4)
	return &peerListener{UnixListener: l, judge: judge, refusedSlots: make(chan struct{}, slots), callers: callers{limit: share - slots}}
}

func (d *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.AcceptUnix()
		if err != nil {
			if descriptors.None(err) { // somebody takes more than a share
				d.callers.mu.Lock()
				d.callers.drop()
				d.callers.mu.Unlock()
			}
			return nil, err
		}
		conn.SetWriteBuffer(connBuffer)
		c := &caller{UnixConn: conn, refused: d.refusals.judged(peerPID(conn), func() error { return d.judge(conn) })}
		if c.refused == nil {
			if c.all = &d.callers; c.all.enter(c) {
				return c, nil
			}
			turnAway(conn, "503 Service Unavailable")
			continue
		}
		select {
		case d.refusedSlots <- struct{}{}:
			c.leave = sync.OnceFunc(func() { <-d.refusedSlots })
			return c, nil
		default:
			turnAway(conn, "403 Forbidden")
		}
	}
}

// turnAway answers before there is a request.
func turnAway(conn net.Conn, status string) {
	io.WriteString(conn, "HTTP/1.1 "+status+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	conn.Close()
}

func (s *server) webServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ConnState: func(c net.Conn, state http.ConnState) {
			if c, ok := c.(*caller); ok && state == http.StateIdle && c.all != nil {
				c.all.wait(c)
			}
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
}

// judge says why a connection's peer may not call; nil: it may.
func (s *server) judge(conn *net.UnixConn) error {
	p, err := lookAt(conn)
	if err == nil {
		err = p.refuse(os.Geteuid(), s.trust, s.host.IsShim)
	}
	return err
}

// authenticate serves peers that the kernel vouches for and that bring the bearer, if there is one (H03).
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the deadline of the last answer is still set
		c, ok := r.Context().Value(connKey{}).(*caller)
		if !ok {
			c = &caller{refused: errors.New("unknown")}
		}
		if c.all != nil && r.ContentLength == 0 {
			c.all.begin(c)
		}
		if c.refused != nil {
			s.Log.Warn("request refused", "peer", c.refused.Error(), "path", fmt.Sprintf("%.100s", r.URL.Path))
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if !s.Bearer.Empty() && !s.hasBearer(r) {
			s.Log.Warn("request refused", "bearer", "missing or wrong", "path", fmt.Sprintf("%.100s", r.URL.Path))
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.ContentLength != 0 {
			memory, ok := s.bodies.take(bodySize(r), bodyWithin)
			if !ok {
				fail(w, &wire.Error{Code: wire.Stopping, Message: "too many large requests at once: try again"})
				return
			}
			defer memory.shrink(0)
			b := &wholeBody{r.Body, w.Header(), memory, c}
			b.header.Set("Connection", "close")
			r = r.WithContext(r.Context()) // a copy: net/http still needs its own
			r.Body = b
			defer b.leave(w)
		}
		// A route that only shows takes no body, so nobody hands it a secret by mistake.
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength != 0 {
			fail(w, &wire.Error{Code: wire.InvalidSpec, Message: r.Method + " takes no body"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hasBearer compares in constant time, whatever the length.
func (s *server) hasBearer(r *http.Request) bool {
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) < len("Bearer ") || values[0][:len("Bearer ")] != "Bearer " {
		return false
	}
	digest := sha256.Sum256([]byte(values[0][len("Bearer "):]))
	return subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1
}
