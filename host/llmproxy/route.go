package llmproxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// handler serves one listener. The one that serves a single session's listener has its id in only.
type handler struct {
	proxy *Proxy
	only  string
	out   *Egress // of that session; nil: it has none
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, query := splitTarget(r.RequestURI)
	arrived(r, onSession(path))
	x := &exchange{proxy: h.proxy, only: h.only, w: w, r: r, rc: *http.NewResponseController(w), path: path, query: query}
	// The answer may start while the request's body is still coming, and a refusal does not wait for the body either. Net/http
	// cannot keep such a connection, and panics between two requests: an answer before the body's end says that it closes.
	x.rc.EnableFullDuplex()
	if asksOut(r.Method, r.RequestURI) && h.letOut(x) {
		return
	}
	if !onSession(path) {
		x.other()
		return
	}
	x.service, _ = serviceOf(path)
	x.line.method, x.line.path = r.Method, path
	record(h.proxy, &x.line, (*exchange).sandbox, x)
}

// sandbox is both routes of session pairings: to the model, and to a service (A04). The look-up comes before the checks: the log line names the session, and a
// refused request keeps its session alive too (P03). The order of the checks still decides what is answered.
func (x *exchange) sandbox() { x.forward(x.admitSession()) }

// admitSession checks the request of a session, and says by which connections it goes.
func (x *exchange) admitSession() (through *http.Transport, no *refusal) {
	var values [maxPresented]string
	pairing, secret, ok := x.proxy.present(presented(values[:0], x.r.Header))
	x.line.session, x.line.clientID, x.presented = pairing.ID, pairing.ClientID, secret
	no = gate(x.r, x.path, x.only != "")
	switch {
	case no != nil:
	case !ok, pairing.noModel && x.service == "", x.only != pairing.ID && (x.only != "" || pairing.own != ""):
		no = refusePairing // none, another session's, or one that only its own listener takes (B04)
	case x.service != "" && !slices.Contains(pairing.services, x.service):
		no = refuseService(x.service, pairing.template)
	case x.strays():
		no = refuseStray
	}
	if no != nil {
		return nil, no
	}
	target := x.r.RequestURI[len("/sandbox"):]
	if x.service != "" {
		target = x.r.RequestURI[len("/service/")+len(x.service):]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return pairing.upstream, x.prepare(&pairing, target)
}

// other is the route of the device pairing: every other path. It logs nothing (P12), so there is no record here.
func (x *exchange) other() { x.forward(x.admitDevice()) }

// admitDevice checks a request that is no session's.
func (x *exchange) admitDevice() (through *http.Transport, no *refusal) {
	x.proxy.present(presented(nil, x.r.Header)) // a session that uses the wrong route is alive (P03)
	no = gate(x.r, x.path, x.only != "")
	x.presented = x.r.Header.Get(pairingHeader)
	switch {
	case no != nil:
	case !x.proxy.isDevice(x.r.Header[pairingHeader]):
		no = refusePairing
	case x.strays():
		no = refuseStray
	}
	if no != nil {
		return nil, no
	}
	return x.proxy.upstream, x.prepare(&Pairing{}, x.r.RequestURI)
}

// strays reports whether the pairing stands in the request line, which goes upstream whole.
func (x *exchange) strays() bool {
	return inTarget(x.path, x.query, x.presented) || holds(x.r.Method, nil, x.presented)
}

func (p *Proxy) isDevice(values []string) bool {
	if len(values) != 1 || p.config.DevicePairing.Empty() {
		return false
	}
	digest := sha256.Sum256([]byte(values[0]))
	return subtle.ConstantTimeCompare(digest[:], p.device[:]) == 1
}

// provider is where a request goes with that pairing: to the model, or to a service.
func (p *Proxy) provider(pairing *Pairing, service string) (Provider, error) {
	provider, err := p.config.Provider(pairing.ClientID, service)
	switch {
	case err != nil:
		return provider, err
	case provider.Credential.Empty():
		err = errNoCredential
	case service == "" && pairing.ownKey && !provider.Own:
		err = fmt.Errorf("llm_proxy.clients.%s has no token_file any more, which it had when the session began: no other key stands in for it", pairing.ClientID)
		provider.Credential.Wipe()
	}
	return provider, err
}

var errNoCredential = errors.New("claude_token_file is not set")
