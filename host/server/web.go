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

	"hostshim/host/wire"
)

// connKey is where a connection's peer is kept, from the moment it was accepted (H03).
type connKey struct{}

// caller is a connection, and what was found about its peer: nil lets its requests in.
type caller struct {
	*net.UnixConn
	refused error
	leave   func()        // gives its slot back; nil: it has none
	waiting *waiting      // where it waits for its next request; nil: nowhere
	place   *list.Element // there
}

func (c *caller) Close() error {
	if c.leave != nil {
		c.leave()
	}
	if c.waiting != nil {
		c.waiting.begin(c)
	}
	return c.UnixConn.Close()
}

// maxRefused is how many connections of peers that may not call are served at a time. Further ones get their answer before
// they ask. Without a limit one session could hold all of the host's descriptors.
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
	waiting      *waiting
}

func (d *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.AcceptUnix()
		if err != nil {
			return nil, err
		}
		conn.SetWriteBuffer(connBuffer)
		c := &caller{UnixConn: conn, refused: d.refusals.judged(peerPID(conn), func() error { return d.judge(conn) })}
		if c.refused == nil {
			c.waiting = d.waiting
			d.waiting.add(c)
			return c, nil
		}
		select {
		case d.refusedSlots <- struct{}{}:
			c.leave = sync.OnceFunc(func() { <-d.refusedSlots })
			return c, nil
		default:
			io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			conn.Close()
		}
	}
}

func (s *server) webServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ConnState: func(c net.Conn, state http.ConnState) {
			if c, ok := c.(*caller); ok && state == http.StateIdle && c.waiting != nil {
				c.waiting.add(c)
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
		if c.waiting != nil {
			c.waiting.begin(c)
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
			b := &wholeBody{r.Body, w.Header(), memory}
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
