package host

import (
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
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hostshim/host/credential"
	"hostshim/host/llmproxy"
)

// stopWithin is how long a stop waits for sessions after their KILL, and for answers that are on their way.
const stopWithin = 5 * time.Second

// lockWithin is how long a start waits for the host.lock where no host answers: a killed host's half-started child may
// still hold it, and a foreground launch while it cleans up after a killed host, which may have left many files.
const lockWithin = time.Minute

// takeLock makes this the one host of the state folder.
func (h *Host) takeLock() (*os.File, error) {
	for late := time.Now().Add(lockWithin); ; time.Sleep(10 * time.Millisecond) {
		lock, err := h.hostLock()
		if err == nil {
			return lock, nil
		} else if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock: %w", err)
		}
		conn, err := net.DialTimeout("unix", h.Places.Socket(), time.Second)
		if err == nil {
			conn.Close()
		}
		if err == nil || time.Now().After(late) {
			return nil, fmt.Errorf("another host runs on %s: stop it, or name another folder with --state-dir", h.Places.State)
		}
	}
}

// Server is the long-lived host: it takes launches over its socket and keeps their sessions (H02).
type Server struct {
	host     *Host
	log      *slog.Logger
	sessions *registry
	launcher *launcher
	bearer   credential.Secret
	digest   [sha256.Size]byte // of the bearer
	trust    bool              // no_new_privs tells a session's process from another
	begun    time.Time
	lock     *os.File // host.lock, held until the process is gone: a session may outlast Serve
}

// NewServer makes a long-lived host of h, whose warnings go to log from now on. An empty bearer asks for none.
func NewServer(h *Host, log *slog.Logger, bearer credential.Secret) (*Server, error) {
	s := &Server{host: h, log: log, bearer: bearer, digest: sha256.Sum256(bearer.Reveal()), trust: !confined(), begun: time.Now(),
		launcher: newLauncher(), sessions: &registry{log: log, byID: map[string]*session{}}}
	if !s.trust && bearer.Empty() {
		return nil, errors.New("this host itself has no_new_privs, so the flag tells no session from another program: give a bearer with --bearer-fd")
	}
	h.Warn = func(text string) { log.Warn(text) }
	h.startShimOn = s.launcher.start
	return s, nil
}

// Serve runs the host until stop gives a signal; a second one makes the end quick. It is the agenda of H02.
func (s *Server) Serve(stop <-chan os.Signal) error {
	h := s.host
	if err := checkSocketPath(h.Places.Socket()); err != nil {
		return err
	}
	_, err := h.Places.stateDir()
	if err != nil {
		return err
	}
	if s.lock, err = h.takeLock(); err != nil {
		return err
	}
	h.served = true
	for _, id := range h.Sweep() {
		s.log.Warn("a session was lost: its host was killed", "session", id)
	}
	if err := s.openModels(); err != nil {
		return err
	}
	defer h.Models.Close()
	listener, err := h.listen()
	if err != nil {
		return err
	}
	web := s.webServer()
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(&door{listener, s.admit, make(chan struct{}, maxRefused)}) }()
	s.log.Info("host is ready", "socket", h.Places.Socket(), "pid", os.Getpid(), "version", Version, "model_proxy", h.Models.base)
	select {
	case err = <-failed:
	case sig := <-stop:
		s.log.Info("host stops", "signal", sig.String())
	}
	s.endSessions(stop)
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	web.Shutdown(ctx) // removes the socket
	web.Close()
	s.log.Info("host has stopped")
	return err
}

// openModels makes the model proxy, and opens its listener where the settings ask for one.
func (s *Server) openModels() error {
	h := s.host
	settings, warnings, err := LoadSettings(h.Places.Settings, h.Places.Named)
	if err != nil {
		return err
	}
	h.warnAll(warnings)
	var device credential.Secret
	if settings.LLMProxy != nil {
		var warning string
		if device, warning, err = llmproxy.DevicePairing(filepath.Join(h.Places.State, "llm-proxy-pairing")); err != nil {
			return err
		}
		if warning != "" {
			h.warnAll([]string{warning})
		}
	}
	models := h.NewModels(s.log, device)
	if settings.LLMProxy != nil {
		if err := models.Listen(settings.LLMProxy.Listen); err != nil {
			models.Close()
			return err
		}
	}
	h.Models = models
	return nil
}

// endSessions gives every session TERM, then KILL after 3 s, or at once when hurry says so.
func (s *Server) endSessions(hurry <-chan os.Signal) {
	s.sessions.stop()
	over := make(chan struct{})
	go func() {
		s.sessions.live.Wait()
		close(over)
	}()
	late := time.NewTimer(killAfter + stopWithin)
	defer late.Stop()
	for {
		select {
		case <-over:
			return
		case <-hurry:
			s.sessions.kill()
		case <-late.C:
			s.log.Error("sessions are still there after their KILL")
			return
		}
	}
}

// connKey is where a connection's peer is kept, from the moment it was accepted (H03).
type connKey struct{}

// caller is a connection, and what was found about its peer: nil lets its requests in.
type caller struct {
	*net.UnixConn
	refused error
	leave   func() // gives its place back; nil: it has none
}

func (c *caller) Close() error {
	if c.leave != nil {
		c.leave()
	}
	return c.UnixConn.Close()
}

// maxRefused is how many peers that may not call are heard out at a time. More get their answer before they ask: a
// session could hold the host's descriptors, and keep everybody else out.
const maxRefused = 32

// connBuffer is what the kernel holds of an answer that nobody reads yet, in bytes, about: little, so that a reader
// of a session's output is seen to read as it does.
const connBuffer = 32 << 10

// door looks at who is at the other end of each connection.
type door struct {
	*net.UnixListener
	admit func(*net.UnixConn) error
	heard chan struct{}
}

func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.AcceptUnix()
		if err != nil {
			return nil, err
		}
		conn.SetWriteBuffer(connBuffer)
		c := &caller{UnixConn: conn, refused: d.admit(conn)}
		if c.refused == nil {
			return c, nil
		}
		select {
		case d.heard <- struct{}{}:
			c.leave = sync.OnceFunc(func() { <-d.heard })
			return c, nil
		default:
			io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			conn.Close()
		}
	}
}

func (s *Server) webServer() *http.Server {
	return &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
}

// admit says why a connection's peer may not call.
func (s *Server) admit(conn *net.UnixConn) error {
	p, err := lookAt(conn)
	if err == nil {
		err = p.refuse(os.Geteuid(), s.trust, s.launcher.isShim)
	}
	return err
}

// guard lets in whom the kernel vouches for and who brings the bearer, if there is one (H03).
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the last answer's is still set
		c, ok := r.Context().Value(connKey{}).(*caller)
		if !ok {
			c = &caller{refused: errors.New("unknown")}
		}
		if c.refused != nil {
			s.log.Warn("request refused", "peer", c.refused.Error(), "path", fmt.Sprintf("%.100s", r.URL.Path))
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if !s.bearer.Empty() && !s.hasBearer(r) {
			s.log.Warn("request refused", "bearer", "missing or wrong", "path", fmt.Sprintf("%.100s", r.URL.Path))
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.ContentLength != 0 {
			b := &wholeBody{r.Body, w.Header()}
			b.header.Set("Connection", "close")
			r = r.WithContext(r.Context()) // a copy: net/http looks at the body of its own
			r.Body = b
			defer b.leave(w)
		}
		// What only shows takes no body at all, so it cannot be handed a secret by mistake.
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength != 0 {
			fail(w, &Refusal{InvalidSpec, r.Method + " takes no body"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hasBearer compares in constant time, whatever the length.
func (s *Server) hasBearer(r *http.Request) bool {
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) < len("Bearer ") || values[0][:len("Bearer ")] != "Bearer " {
		return false
	}
	digest := sha256.Sum256([]byte(values[0][len("Bearer "):]))
	return subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1
}
