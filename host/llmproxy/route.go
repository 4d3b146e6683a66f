package llmproxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// front is one listener's face: only is "" on the shared listener, else the session that it serves.
type front struct {
	proxy *Proxy
	only  string
}

func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, query := splitTarget(r.RequestURI)
	arrived(r, onSandbox(path))
	x := &exchange{proxy: f.proxy, only: f.only, w: w, r: r, rc: *http.NewResponseController(w), path: path, query: query}
	// Responses may start while the request's body is still coming, and refusals do not wait for it either.
	x.rc.EnableFullDuplex()
	if !onSandbox(path) {
		x.other()
		return
	}
	x.line.method, x.line.path = r.Method, path
	record(f.proxy, &x.line, (*exchange).sandbox, x)
}

// sandbox is the route of session pairings. The look-up comes first, for the log line and because refused
// requests keep a session alive too (P03); what is answered goes by the order of the checks.
func (x *exchange) sandbox() {
	var values [maxPresented]string
	session, pairing, ok := x.proxy.present(presented(values[:0], x.r.Header))
	x.line.session, x.line.clientID, x.pairing = session.ID, session.ClientID, pairing
	no := gate(x.r, x.path, x.only != "")
	switch {
	case no != nil:
	case !ok, x.only != session.ID && (x.only != "" || session.own != ""):
		no = refusePairing // none, another's, or one that is taken in its own network alone (B04)
	}
	if no == nil && x.strays(pairing) {
		no = refuseStray
	}
	if no != nil {
		x.refuse(no)
		return
	}
	target := x.r.RequestURI[len("/sandbox"):]
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	x.forward(session.ClientID, target)
}

// other is every other path, the route of the device pairing. It logs nothing a request (P12): no record here.
func (x *exchange) other() {
	x.proxy.present(presented(nil, x.r.Header)) // a session that strayed here is alive (P03)
	no := gate(x.r, x.path, x.only != "")
	x.pairing = x.r.Header.Get(pairingHeader)
	switch {
	case no != nil:
	case !x.proxy.isDevice(x.r.Header[pairingHeader]):
		no = refusePairing
	case x.strays(x.pairing):
		no = refuseStray
	}
	if no != nil {
		x.refuse(no)
		return
	}
	x.forward("", x.r.RequestURI)
}

// strays says whether the pairing stands in the request line, of which all goes upstream.
func (x *exchange) strays(pairing string) bool {
	return inTarget(x.path, x.query, pairing) || holds(x.r.Method, nil, pairing)
}

func (p *Proxy) isDevice(values []string) bool {
	if len(values) != 1 || p.config.DevicePairing.Empty() {
		return false
	}
	digest := sha256.Sum256([]byte(values[0]))
	return subtle.ConstantTimeCompare(digest[:], p.device[:]) == 1
}

func (p *Proxy) provider(clientID string) (Provider, error) {
	if p.config.Provider == nil {
		return Provider{}, errNoCredential
	}
	provider, err := p.config.Provider(clientID)
	if err == nil && provider.Credential.Empty() {
		err = errNoCredential
	}
	return provider, err
}

var errNoCredential = errors.New("claude_token_file is not set")
