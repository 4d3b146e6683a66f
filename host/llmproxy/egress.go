package llmproxy

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hostshim/host/descriptors"
	"hostshim/host/reach"
)

// A session's way out to hosts by name (N): CONNECT, and requests for a full http URL, on the listener that the session
// has anyway. Nothing here adds a credential.

// The bounds of N05.
const (
	maxTunnels     = 256 // of one session
	connectTimeout = 10 * time.Second
	helloTimeout   = 10 * time.Second
	idleTunnel     = 10 * time.Minute
	halfTunnel     = time.Minute // of one that one side has ended
	maxRefused     = 16          // hosts that are remembered as refused
	maxLogHost     = 256         // of what a client can write into the log
)

// Egress is one session's way out. End must end it.
type Egress struct {
	proxy             *Proxy
	session, clientID string // for the line
	hosts             reach.Hosts
	cure              string // where the hosts are listed
	usual             bool   // host run can add to them
	part              *descriptors.Part
	direct, proxied   *http.Transport
	dial              func(context.Context, reach.Host) (net.Conn, error)
	ctx               context.Context
	cancel            func()
	tunnels           atomic.Int32

	mu      sync.Mutex
	refused []string // entries that would have let a request out
	more    int      // refused beyond those
}

func newEgress(p *Proxy, l Launch) *Egress {
	part := p.out.Part()
	e := &Egress{proxy: p, clientID: l.ClientID, hosts: l.Hosts, cure: l.Template, usual: l.ByHand, part: part,
		direct: p.newUpstream(part), proxied: p.newUpstream(part)}
	e.direct.Proxy, e.direct.DialContext, e.dial = nil, p.bounded(part, e.closeIdle, dialPlain), e.dialTunnel
	e.ctx, e.cancel = context.WithCancel(p.requests)
	return e
}

// End ends every tunnel and lets nothing out from then on.
func (e *Egress) End() {
	if e != nil {
		e.cancel()
		e.closeIdle()
	}
}

func (e *Egress) closeIdle() {
	e.direct.CloseIdleConnections()
	e.proxied.CloseIdleConnections()
}

// Refused lists entries of "hosts" that would have covered what was refused, as many as are remembered, and says how many
// attempts there were for others.
func (e *Egress) Refused() (entries []string, more int) {
	if e == nil {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.refused), e.more
}

func (e *Egress) remember(entry string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case slices.Contains(e.refused, entry):
	case len(e.refused) < maxRefused:
		e.refused = append(e.refused, entry)
	default:
		e.more++
	}
}

// asksOut says whether a request is for another host rather than for the proxy itself.
func asksOut(method, target string) bool {
	return method == http.MethodConnect || target != "" && target[0] != '/' && target != "*"
}

// egress is the way out that a request may use, nil for none. A session's own listener has one or none; on the shared
// listener the pairing, as the proxy's password, decides.
func (h handler) egress(r *http.Request) (e *Egress, secret string) {
	if h.only != "" {
		return h.out, ""
	}
	pairing, secret, ok := h.proxy.present(proxyPassword(r.Header))
	if !ok || pairing.own != "" {
		return nil, ""
	}
	return pairing.Out, secret
}

// proxyPassword is the password that a client presents to its HTTP proxy.
func proxyPassword(h http.Header) []string {
	if len(h["Proxy-Authorization"]) != 1 {
		return nil
	}
	scheme, rest, _ := strings.Cut(h["Proxy-Authorization"][0], " ")
	pair, _ := base64.StdEncoding.DecodeString(strings.TrimLeft(rest, " "))
	_, password, ok := strings.Cut(string(pair), ":")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return nil
	}
	return []string{password}
}

// letOut serves a request for another host. It returns false if the session has no way out: then the request is one like any
// other, and refused as such.
func (h handler) letOut(x *exchange) bool {
	e, secret := h.egress(x.r)
	switch {
	case e != nil:
		x.egress, x.presented = e, secret
		x.line.start(e, x.r.RequestURI)
		if x.r.Method == http.MethodConnect {
			x.connect()
		} else {
			record(h.proxy, &x.line, (*exchange).plain, x)
		}
		return true
	case h.only == "" && h.proxy.registry.letsOut():
		x.refuse(refusePassword) // many clients present a password only when they are asked for it
		return true
	}
	return false
}

const egressMessage = "LLM proxy egress"

// start makes l the line of an attempt for target.
func (l *line) start(e *Egress, target string) {
	// Of a URL the host alone: a query may hold a key, and user information a password.
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	if i := strings.IndexAny(target, "/?#"); i >= 0 {
		target = target[:i]
	}
	target = target[strings.LastIndexByte(target, '@')+1:]
	l.egress, l.session, l.clientID, l.host = true, e.session, e.clientID, target
}

func (l *line) writeEgress(log *slog.Logger, took time.Duration) {
	log.LogAttrs(context.Background(), slog.LevelInfo, egressMessage,
		slog.String("session", l.session),
		slog.String("client_id", l.clientID),
		slog.String("host", cut(hidePairings(l.host), maxLogHost)),
		slog.Int("port", l.port),
		slog.Int("status", l.status),
		slog.String("code", l.code),
		slog.Int64("bytes_in", l.in),
		slog.Int64("bytes_out", l.out),
		slog.Int64("duration_ms", took.Milliseconds()),
		slog.String("outcome", l.outcome),
	)
}

var (
	refusePassword = &refusal{http.StatusProxyAuthRequired, "pairing_invalid", "no valid pairing as the proxy's password", 0}
	refuseEnded    = &refusal{http.StatusForbidden, "session_ended", "the session has ended", 0}
	refuseTunnels  = &refusal{http.StatusTooManyRequests, "tunnels_exhausted", fmt.Sprintf("the session has %d tunnels open, which is its bound", maxTunnels), 0}
	refuseBodied   = &refusal{http.StatusBadRequest, "request_invalid", "a CONNECT has no body", 0}
	refuseScheme   = &refusal{http.StatusBadRequest, "request_invalid", "want CONNECT, or a URL that starts with http://", 0}
	refusePlain    = &refusal{http.StatusForbidden, "plain_not_allowed", "an http:// request goes to port 80 alone: use https, or a tunnel (curl -p)", 0}
)

// admit reads the host that a request is for, and refuses one that is not listed. Nothing is looked up before. Only is
// the port to which the request may go, and that of a host without one; 0: any, and there must be one.
func (e *Egress) admit(l *line, text string, only uint16) (h reach.Host, no *refusal) {
	h, err := reach.ParseHost(text, only)
	if err != nil {
		return h, &refusal{http.StatusBadRequest, "host_invalid", err.Error(), 0}
	}
	l.host, l.port = h.Name, int(h.Port)
	if h.Addr.IsValid() {
		l.host = h.Addr.String()
	}
	if e.ctx.Err() != nil {
		return h, refuseEnded
	}
	if only != 0 && h.Port != only {
		return h, refusePlain
	}
	if !e.hosts.Allow(h) {
		e.remember(h.Entry())
		cure := fmt.Sprintf(`%s is not listed: add %q to "hosts" of template %q`, h, h.Entry(), e.cure)
		if e.usual {
			cure += ", or say --allow-host " + h.Entry()
		}
		return h, &refusal{http.StatusForbidden, "host_not_listed", cure, 0}
	}
	return h, nil
}

// unreachable is the answer when a listed host gave none.
func unreachable(h string, err error) *refusal {
	var closed *closedAddress
	switch {
	case errors.As(err, &closed):
		return &refusal{http.StatusForbidden, "address_not_allowed", h + " leads to an address of this machine or of its own link, which only that address in \"hosts\" opens", 0}
	case errors.Is(err, context.Canceled):
		return refuseEnded
	case isTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return &refusal{http.StatusGatewayTimeout, "gateway_timeout", fmt.Sprintf("%s did not answer in time", h), 0}
	}
	return &refusal{http.StatusBadGateway, "gateway_unreachable", h + " cannot be reached: " + reason(err), 0}
}
