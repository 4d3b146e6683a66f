package llmproxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"hostshim/host/credential"
)

// The server's limits (P14). There is no write timeout: a stream may last for hours.
const (
	headerReadTimeout = 10 * time.Second
	idleConnTimeout   = 2 * time.Minute
	maxHeader         = 64<<10 - 4<<10 // net/http reads 4 KiB more before it gives up
	expireEvery       = time.Minute    // P03, P05
	closeWait         = 2 * time.Second
)

// Config is what a Proxy is made of.
type Config struct {
	Provider      func(clientID string) (Provider, error) // asked for each request that passed every check (P09); "" is the device route
	Policy        func() (Policy, error)                  // asked at each creation and sweep; nil allows all
	DevicePairing credential.Secret                       // empty closes the device route
	Log           *slog.Logger                            // nil drops everything
	Audit         func(Event)                             // told of every pairing made, refused or ended; may be nil
}

// Provider is where a request goes and the credential that it gets there. They come together, from one reading of
// the settings: a change between two readings would send one provider's credential to another.
type Provider struct {
	Upstream   *url.URL
	Credential credential.Secret // the proxy wipes it
}

// Event is something that happened to a pairing.
type Event struct {
	Name    string // EventCreate or EventRevoke
	Pairing Pairing
	Reason  string // why a pairing ended: revoked, idle, or its client id is no longer allowed
	Err     error  // why none was made
}

// Names of events (H09).
const (
	EventCreate = "pairing_create"
	EventRevoke = "pairing_revoke"
)

// Proxy is the model proxy. Its methods may be called at any time, from any goroutine.
type Proxy struct {
	config   Config
	log      *slog.Logger
	device   [sha256.Size]byte // of the device pairing
	upstream *http.Transport
	registry *registry
	stop     chan struct{} // ends the expirer

	requests context.Context // that of all of them
	breakOff func()          // ends it

	mu      sync.Mutex
	closed  bool
	address net.Addr // of the shared listener, while it serves
	servers map[*http.Server]bool
	serving int           // requests whose line is not written yet
	quiet   chan struct{} // closed when there are none; nil: nobody waits
}

// New makes a proxy that serves nothing yet. Close or Shutdown must end it.
func New(config Config) *Proxy {
	return newProxy(config, systemClock())
}

func newProxy(config Config, now clock) *Proxy {
	p := &Proxy{
		config:   config,
		log:      config.Log,
		device:   sha256.Sum256(config.DevicePairing.Reveal()),
		upstream: newUpstream(),
		registry: &registry{now: now},
		stop:     make(chan struct{}),
		servers:  map[*http.Server]bool{},
	}
	p.requests, p.breakOff = context.WithCancel(context.Background())
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	go p.expirer()
	return p
}

// Serve serves both routes on l until l or the proxy is closed.
func (p *Proxy) Serve(l net.Listener) error {
	s, err := p.open(l, "")
	if err != nil {
		return err
	}
	return p.serve(s, l, "")
}

// Start does the same in the background. BaseURL is known when it returns.
func (p *Proxy) Start(l net.Listener) error {
	s, err := p.open(l, "")
	if err != nil {
		return err
	}
	go func() {
		if err := p.serve(s, l, ""); err != nil {
			p.log.Error("the model proxy's listener failed", "error", err.Error())
		}
	}()
	return nil
}

// ServeSession serves one session's own listener (B04): /sandbox alone, and that session's pairing alone. The
// caller closes l when the session ends; a response that is running then still completes (P11).
func (p *Proxy) ServeSession(l net.Listener, id string) error {
	if id == "" {
		return errors.New("a session's listener needs the session's id")
	}
	s, err := p.open(l, id)
	if err != nil {
		return err
	}
	return p.serve(s, l, id)
}

// open makes the server of a listener, which it closes if there is none to be.
func (p *Proxy) open(l net.Listener, only string) (*http.Server, error) {
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("listen address %q is not loopback", l.Addr())
	}
	s := p.server(only)
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

func (p *Proxy) serve(s *http.Server, l net.Listener, only string) error {
	err := s.Serve(newListener(l, p, connLimit(only)))

	p.mu.Lock()
	if only == "" {
		p.address = nil
	}
	p.mu.Unlock()
	if !errors.Is(err, net.ErrClosed) {
		p.forget(s)
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
	// The listener is gone, the connections are not: idle ones close now, busy ones after their response.
	go func() {
		s.Shutdown(context.Background())
		p.forget(s)
	}()
	return nil
}

func (p *Proxy) forget(s *http.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.servers, s)
}

func (p *Proxy) server(only string) *http.Server {
	s := &http.Server{
		Handler:                      front{p, only},
		ReadHeaderTimeout:            headerReadTimeout,
		IdleTimeout:                  idleConnTimeout,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true, // OPTIONS * is refused like any other
		ConnState:                    followConn,
		ConnContext:                  rememberConn,
		BaseContext:                  func(net.Listener) context.Context { return p.requests },
		ErrorLog:                     slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
		Protocols:                    new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// BaseURL is what a sandboxed program takes for its model provider, "" while the shared listener does not serve.
func (p *Proxy) BaseURL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address == nil {
		return ""
	}
	return "http://" + p.address.String() + "/sandbox"
}

// Close ends everything at once, running responses too, and waits until each has its line in the log, closeWait
// at most.
func (p *Proxy) Close() error {
	var err error
	for _, s := range p.end() {
		err = errors.Join(err, s.Close())
	}
	p.breakOff() // net/http does not see a client go while its body waits for the upstream
	p.upstream.CloseIdleConnections()
	p.mu.Lock()
	if p.quiet == nil {
		p.quiet = make(chan struct{})
	}
	quiet := p.quiet
	p.mu.Unlock()
	p.running(0)
	select {
	case <-quiet:
	case <-time.After(closeWait):
		err = errors.Join(err, fmt.Errorf("a request's line was not written within %v", closeWait))
	}
	return err
}

// running counts the requests that are being served; n is how many more.
func (p *Proxy) running(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving += n; p.serving == 0 && p.quiet != nil {
		close(p.quiet)
		p.quiet = nil
	}
}

// Shutdown takes no new request and waits for running responses, until ctx is over.
func (p *Proxy) Shutdown(ctx context.Context) error {
	var err error
	for _, s := range p.end() {
		err = errors.Join(err, s.Shutdown(ctx))
	}
	p.upstream.CloseIdleConnections()
	return err
}

func (p *Proxy) end() []*http.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.stop)
	}
	var servers []*http.Server
	for s := range p.servers {
		servers = append(servers, s)
	}
	return servers
}

func (p *Proxy) expirer() {
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
