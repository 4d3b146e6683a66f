package llmproxy

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"hostshim/host/credential"
	"hostshim/host/descriptors"
)

// The server's limits (P14). There is no write timeout, because a stream may last for hours.
const (
	headerReadTimeout = 10 * time.Second
	idleConnTimeout   = 2 * time.Minute
	maxHeader         = 64<<10 - 4<<10 // net/http reads 4 KiB more before it refuses
	expireEvery       = time.Minute    // P03, P05
	closeWait         = 2 * time.Second
)

// Config is what a Proxy is made of. Only the device pairing may be missing.
type Config struct {
	// Provider is called for each request that passed every check (P09). The client "" is the device route. With a service
	// it says where that service is, whichever client asks (A04).
	Provider      func(clientID, service string) (Provider, error)
	Policy        func() (Policy, error) // called when a pairing is made, and at each expire
	DevicePairing credential.Secret      // empty closes the device route
	Roots         *x509.CertPool         // whom to believe that it is the provider; nil: the system's certificates
	Log           *slog.Logger
	Audit         func(Event) // called for every pairing that is made, refused or ended
}

// Event is something that happened to a pairing.
type Event struct {
	Name    string // EventCreate or EventRevoke
	Pairing Pairing
	Reason  string // why the pairing ended: revoked, idle, or its client id is no longer allowed
	Err     error  // why no pairing was made
}

// Names of events (H09).
const (
	EventCreate = "pairing_create"
	EventRevoke = "pairing_revoke"
)

// Proxy is the model proxy. Its methods may be called at any time, from any goroutine.
type Proxy struct {
	config   Config
	device   [sha256.Size]byte // of the device pairing
	upstream *http.Transport   // of the device route
	registry *registry
	headers  headerBudget
	crowd    *crowd
	out      *descriptors.Pool // for connections to the upstream and to hosts by name
	stop     chan struct{}     // ends expireLoop

	requests context.Context // the parent of every request's context
	breakOff func()          // cancels it

	mu      sync.Mutex
	closed  bool
	address net.Addr // of the shared listener, while it serves
	servers map[*http.Server]bool
	owns    map[string]*listener // of sessions, by pairing id
	serving int                  // requests whose line is not written yet
	drained chan struct{}        // closed once there are none; nil while nobody waits
}

// New makes a proxy that serves nothing yet. Close must end it.
func New(config Config) *Proxy {
	return newProxy(config, systemClock())
}

func newProxy(config Config, now clock) *Proxy {
	shares := descriptors.Own()
	p := &Proxy{
		config:  config,
		device:  sha256.Sum256(config.DevicePairing.Reveal()),
		crowd:   newCrowd(shares.Clients),
		out:     descriptors.NewPool(shares.Upstream),
		stop:    make(chan struct{}),
		servers: map[*http.Server]bool{},
		owns:    map[string]*listener{},
	}
	p.registry = &registry{now: now, upstream: func() *http.Transport { return p.newUpstream(p.out.Part()) }}
	p.upstream = p.newUpstream(p.out.Part())
	p.requests, p.breakOff = context.WithCancel(context.Background())
	go p.expireLoop()
	return p
}

// Start serves both routes on l in the background, until l or the proxy is closed. BaseURL is set when it returns.
func (p *Proxy) Start(l net.Listener) error {
	s, err := p.open(l, "", nil)
	if err != nil {
		return err
	}
	go func() {
		if err := p.serve(s, l, "", nil); err != nil {
			p.config.Log.Error("the model proxy's listener failed", "error", err.Error())
		}
	}()
	return nil
}

// ServeSession serves the listener of one session (B04): the sandbox route alone, for that session's pairing alone, and
// the session's way out, if out is not nil (N02), until CloseSession. A response that is running then still completes (P11).
func (p *Proxy) ServeSession(l net.Listener, id string, out *Egress) error {
	if id == "" {
		return errors.New("a session's listener needs the session's id")
	}
	s, err := p.open(l, id, out)
	if err != nil {
		return err
	}
	return p.serve(s, l, id, out)
}

// CloseSession closes the listener of a session, also while a connection to it waits for a place.
func (p *Proxy) CloseSession(id string) {
	p.mu.Lock()
	own := p.owns[id]
	p.mu.Unlock()
	if own != nil {
		own.Close()
	}
}

// open makes the server of a listener. It closes the listener if that cannot be served.
func (p *Proxy) open(l net.Listener, only string, out *Egress) (*http.Server, error) {
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("listen address %q is not loopback", l.Addr())
	}
	s := p.server(only, out)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return nil, http.ErrServerClosed
	}
	p.servers[s] = true
	if only == "" {
		p.address = l.Addr()
	}
	return s, nil
}

func (p *Proxy) serve(s *http.Server, l net.Listener, only string, out *Egress) error {
	own := newListener(l, p, only != "", out)
	p.mu.Lock()
	p.owns[only] = own
	p.mu.Unlock()
	err := s.Serve(own)

	p.mu.Lock()
	delete(p.owns, only)
	if only == "" {
		p.address = nil
	}
	p.mu.Unlock()
	switch {
	case errors.Is(err, net.ErrClosed):
		// The listener is closed, its connections are not. Idle ones close now, busy ones after their response.
		go func() {
			s.Shutdown(context.Background())
			p.forget(s)
		}()
		return nil
	case errors.Is(err, http.ErrServerClosed):
		err = nil
	}
	p.forget(s)
	return err
}

func (p *Proxy) forget(s *http.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.servers, s)
}

func (p *Proxy) server(only string, out *Egress) *http.Server {
	s := &http.Server{
		Handler:                      handler{p, only, out},
		ReadHeaderTimeout:            headerReadTimeout,
		IdleTimeout:                  idleConnTimeout,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true, // OPTIONS * is refused like any other OPTIONS
		ConnState:                    followConn,
		ConnContext:                  rememberConn,
		BaseContext:                  func(net.Listener) context.Context { return p.requests },
		ErrorLog:                     slog.NewLogLogger(p.config.Log.Handler(), slog.LevelWarn),
		Protocols:                    new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// BaseURL is the base URL of the shared listener for a sandboxed program, or "" while that listener does not serve.
func (p *Proxy) BaseURL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address == nil {
		return ""
	}
	return "http://" + p.address.String() + "/sandbox"
}

// Close cancels the requests in flight and waits for their log lines, for closeWait at most.
func (p *Proxy) Close() error {
	var err error
	for _, s := range p.end() {
		err = errors.Join(err, s.Close())
	}
	p.breakOff() // net/http does not notice that a client left while its body waits for the upstream
	p.closeIdle()
	p.mu.Lock()
	if p.drained == nil {
		p.drained = make(chan struct{})
	}
	drained := p.drained
	p.mu.Unlock()
	p.addServing(0)
	select {
	case <-drained:
	case <-time.After(closeWait):
		err = errors.Join(err, fmt.Errorf("a request's line was not written within %v", closeWait))
	}
	return err
}

// addServing changes the number of requests whose line is not written yet.
func (p *Proxy) addServing(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving += n; p.serving == 0 && p.drained != nil {
		close(p.drained)
		p.drained = nil
	}
}

// end lets no further listener in and returns the servers there are.
func (p *Proxy) end() []*http.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.stop)
	}
	return slices.Collect(maps.Keys(p.servers))
}

func (p *Proxy) expireLoop() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.expire()
		}
	}
}
