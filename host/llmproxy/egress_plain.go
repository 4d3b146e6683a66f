package llmproxy

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// plainPort is the only port that takes plain requests.
const plainPort = 80

// plain forwards a request for a full http URL to a listed host (N02), under the rules of P07 and P08, but for the
// credential: there is none to add, and the client's own goes on.
func (x *exchange) plain() {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.egress.ctx, cancel)() // the session's end ends it
	x.r = x.r.WithContext(ctx)
	through, no := x.preparePlain()
	if no != nil {
		x.refuse(no)
		return
	}
	header := make(http.Header, len(x.r.Header)+1)
	copyHeader(header, x.r.Header, func(name string) bool { return name == "Host" || name == "Content-Length" || hopByHop(name) }, x.presented)
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil
	}
	x.send(through, header)
}

// preparePlain reads where the request goes, and by which connections.
func (x *exchange) preparePlain() (through *http.Transport, no *refusal) {
	scheme, rest, ok := strings.Cut(x.r.RequestURI, "://")
	if !ok || !strings.EqualFold(scheme, "http") {
		return nil, refuseScheme
	}
	authority, target := rest, "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, target = rest[:i], rest[i:]
	}
	h, no := x.egress.admit(&x.line, authority, plainPort)
	switch {
	case no != nil:
		return nil, no
	case !methodAllowed(x.r.Method):
		return nil, refuseMethod
	case wantsUpgrade(x.r.Header):
		return nil, refuseUpgrade
	case strings.Contains(target, "#"):
		return nil, refusePath
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	base := &url.URL{Scheme: "http", Host: strings.TrimSuffix(h.String(), ":80")}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base}); err != nil || proxy != nil {
		// The host's own proxy looks the name up, and gets the full URL.
		x.target = url.URL{Scheme: base.Scheme, Host: base.Host, Opaque: "//" + base.Host + target}
		return x.egress.proxied, nil
	}
	if !locate(&x.target, base, target) {
		return nil, refusePath
	}
	return x.egress.direct, nil
}
