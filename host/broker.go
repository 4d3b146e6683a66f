package host

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"hostshim/host/credential"
	"hostshim/host/llmproxy"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Broker hands out pairings, and runs the model proxy that takes them (P, B). The proxy and its shared listener are made
// when they are first needed. Settings, policy and credential are read anew for each use (T05).
type Broker struct {
	places   state.Places
	warn     func(string)
	settings settings.Memory
	files    credential.Reader

	mu     sync.Mutex
	device credential.Secret
	log    *slog.Logger // nil: the proxy's lines go to the request log alone
	lines  *state.RequestLog
	proxy  *llmproxy.Proxy // nil: not made yet
	base   string          // base URL of the shared listener; "": it is not open
	wanted string          // address of that listener; "": any
	failed error           // why it did not open when it was last tried
	port   int             // of the shared listener
}

// NewBroker makes the broker of a foreground launch (B02).
func NewBroker(p state.Places, warn func(string)) *Broker { return &Broker{places: p, warn: warn} }

// NewServedBroker makes the broker of a long-lived host, with the pairing that every route but /sandbox takes.
func NewServedBroker(p state.Places, log *slog.Logger, device credential.Secret) *Broker {
	return &Broker{places: p, warn: func(text string) { log.Warn(text) }, log: log, device: device}
}

// made returns the proxy. The caller holds the lock.
func (b *Broker) made() (*llmproxy.Proxy, error) {
	if b.proxy != nil {
		return b.proxy, nil
	}
	b.lines = b.places.NewRequestLog()
	handler := slog.Handler(slog.NewJSONHandler(b.lines, nil))
	if b.log != nil {
		handler = both{handler, b.log.Handler()}
	}
	log := slog.New(handler)
	b.proxy = llmproxy.New(llmproxy.Config{Provider: b.provider, Policy: b.policy, DevicePairing: b.device, Roots: b.upstreamRoots(), Log: log, Audit: b.audit})
	return b.proxy, nil
}

// Listen opens the shared listener, on a free loopback port where the address is "" or says port 0.
func (b *Broker) Listen(address string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = address
	b.failed = b.listen()
	return b.failed
}

// Failed says why the shared listener is not open although it was asked for; nil: it is, or was not.
func (b *Broker) Failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

func (b *Broker) listen() error {
	address := cmp.Or(b.wanted, settings.DefaultListen)
	proxy, err := b.made()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = proxy.Start(l)
	}
	if err != nil {
		return fmt.Errorf("llm_proxy.listen %q: %w", address, err)
	}
	b.base, b.port = proxy.BaseURL(), l.Addr().(*net.TCPAddr).Port
	return nil
}

// listening is the base URL and the port of the shared listener, which it opens if need be.
func (b *Broker) listening() (base string, port int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == "" {
		b.failed = b.listen() // a port that was taken may be free by now
		err = b.failed
	}
	return b.base, b.port, err
}

// BaseURL is the base URL of the shared listener; "" while it is not open.
func (b *Broker) BaseURL() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.base
}

// Handler serves the pairings API (P01).
func (b *Broker) Handler() (http.Handler, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	proxy, err := b.made()
	if err != nil {
		return nil, err
	}
	return proxy.Handler(), nil
}

// Close ends the proxy: every pairing is worthless from then on.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proxy != nil {
		b.proxy.Close()
	}
	if b.lines != nil {
		b.lines.Close()
	}
}

// provider is where a client's next request goes, with which credential (P09), to the model or to a service; "" is the device
// route's client.
func (b *Broker) provider(clientID, service string) (llmproxy.Provider, error) {
	p, _, err := b.warnedProvider(clientID, service)
	return p, err
}

// warnedProvider also returns what a launch warns of (T06).
func (b *Broker) warnedProvider(clientID, service string) (to llmproxy.Provider, warnings []string, err error) {
	set, err := b.settings.Load(b.places.Settings, b.places.Named)
	if err != nil {
		return to, nil, err
	}
	access, err := set.Access(clientID)
	if service != "" {
		access, err = set.ServiceAccess(service)
	}
	if err != nil {
		return to, nil, err
	}
	return b.providerOf(access)
}

// providerOf reads the credential.
func (b *Broker) providerOf(a settings.Access) (to llmproxy.Provider, warnings []string, err error) {
	to.Auth, to.Own = a.Auth, a.Own()
	to.Limits = llmproxy.Limits{Paths: a.Paths, Methods: a.Methods, PerMinute: a.PerMinute, Total: a.Requests}
	if to.Upstream, err = url.Parse(a.Upstream); err != nil {
		return to, nil, err
	}
	to.Credential, warnings, err = b.files.Read(a.Key, a.Path)
	return to, warnings, err
}

// policy is who may have a pairing.
func (b *Broker) policy() (llmproxy.Policy, error) {
	set, err := b.settings.Load(b.places.Settings, b.places.Named)
	if err != nil {
		return llmproxy.Policy{}, err
	}
	p := set.Effective()
	return llmproxy.Policy{Allowed: p.AllowedClientIDs, Subscription: p.SubscriptionClientIDs, OwnKey: set.OwnKeys(),
		Idle: time.Duration(p.IdleTimeoutSeconds) * time.Second}, nil
}

func (b *Broker) audit(e llmproxy.Event) {
	row := state.Session{TemplateID: e.Pairing.ClientID, Credential: wire.CredentialPairing}.Row(e.Name)
	row.PairingID = e.Pairing.ID
	if e.Reason != "revoked" {
		row.Error = e.Reason
	}
	if e.Err != nil {
		row.Outcome, row.Error = state.OutcomeDeny, e.Err.Error()
	}
	if err := b.places.Append(row); err != nil {
		b.warn(err.Error())
	}
}

// mintPairing makes the pairing that a brokered launch gets in place of the token (B01), or that stands for the way out of
// one that reaches hosts by name (N02) or services (A04). It ends with the launch.
func (r *Running) mintPairing() error {
	b, base, own := r.host.config.Broker, "", ""
	var err error
	if r.Plan.ownNetwork() {
		own = "http://" + net.JoinHostPort(shim.ModelAddr, strconv.Itoa(shim.ModelPort)) + "/sandbox"
		base = own
	} else if base, _, err = b.listening(); err != nil {
		return err
	}
	proxy, err := b.shared()
	if err != nil {
		return err
	}
	p := r.Plan
	brokered := p.Credential == wire.CredentialPairing
	session, pairing, err := proxy.CreateForLaunch(llmproxy.Launch{ClientID: p.clientID, Own: own, NoModel: !brokered,
		Hosts: p.hosts, Services: p.serviceIDs(), Template: p.TemplateID, ByHand: p.request.Kind == wire.KindRun})
	if err != nil {
		return err
	}
	r.out = session.Out
	r.undo = append(r.undo, func() {
		session.Out.End()
		if over, ok := proxy.End(session.ID); ok {
			r.pairing.Store(&over)
		}
	})
	r.pairing.Store(&session)
	r.PairingID = session.ID
	r.shown = []credential.Secret{pairing, basicForm(pairing)}
	r.env = p.brokeredEnv(withPassword(r.env, pairing), base, r.shown[1])
	r.fill(pairing, base)
	if brokered {
		r.token = pairing
	}
	return nil
}

func (b *Broker) shared() (*llmproxy.Proxy, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made()
}

// serveOwnNetwork takes the listener that the shim's second stage made inside the session's network before it became the
// target. It serves the session's pairing there and nothing else (B04). Without a pairing nothing there answers, and with
// no network at all there is no listener.
func (r *Running) serveOwnNetwork() error {
	if r.listener == nil {
		return nil
	}
	defer r.listener.Close()
	if !r.Plan.listens() {
		return nil
	}
	l, err := receiveListener(r.listener)
	if err != nil {
		return err
	}
	if r.PairingID == "" {
		return l.Close()
	}
	proxy, err := r.host.config.Broker.shared()
	if err != nil {
		l.Close()
		return err
	}
	id := r.PairingID
	r.undo = append(r.undo, func() {
		l.Close() // where it is not served yet
		proxy.CloseSession(id)
	})
	go proxy.ServeSession(l, id, r.out)
	return nil
}
