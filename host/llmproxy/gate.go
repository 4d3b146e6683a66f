package llmproxy

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// The checks that come before anything else (P07). All are pure functions, and none reads a setting.

// gate runs the checks in their order. The path is what splitTarget returned; sandboxOnly is true on a listener that
// serves one session.
func gate(r *http.Request, path string, sandboxOnly bool) *refusal {
	switch {
	case !loopbackHost(r.Host):
		return refuseHost
	case fromBrowser(r):
		return refuseBrowser
	case !methodAllowed(r.Method):
		return refuseMethod
	case wantsUpgrade(r.Header):
		return refuseUpgrade
	case !pathAllowed(path):
		return refusePath
	case strayRoute(path), sandboxOnly && !onSession(path):
		return refuseRoute
	}
	return nil
}

// splitTarget splits a request target, as sent, into path and query. The query keeps its question mark.
func splitTarget(target string) (path, query string) {
	path = target
	if i := strings.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	return path, query
}

// onSandbox reports whether path, as sent, is on the sandbox route. An escaped spelling of the route does not count.
func onSandbox(path string) bool {
	return path == "/sandbox" || strings.HasPrefix(path, "/sandbox/")
}

// serviceOf splits a path on a service's route, /service/<id>/…, into the id and the path for the service's upstream. The id
// is "" if the path, as sent, is on no such route.
func serviceOf(path string) (id, rest string) {
	id, ok := strings.CutPrefix(path, "/service/")
	if end := strings.IndexByte(id, '/'); end >= 0 {
		id, rest = id[:end], id[end:]
	}
	if !ok || !validClientID(id) {
		return "", ""
	}
	return id, rest
}

// onSession reports whether path, as sent, is on a route of session pairings: the sandbox's or a service's.
func onSession(path string) bool {
	id, _ := serviceOf(path)
	return id != "" || onSandbox(path)
}

// strayRoute reports whether the path is a near miss of a route of session pairings: once it is decoded, its first segment
// begins like the route in any case. Empty segments do not count, nor does a dot. A typing error must not fall through to
// the other route, which has another credential.
func strayRoute(path string) bool {
	if onSession(path) {
		return false
	}
	decoded, err := url.PathUnescape(path)
	for {
		rest := strings.TrimLeft(decoded, `/\`)
		if rest = strings.TrimPrefix(rest, "./"); rest == decoded {
			return err != nil || beginsLike(rest, "sandbox") || beginsLike(rest, "service")
		}
		decoded = rest
	}
}

func beginsLike(path, route string) bool {
	return len(path) >= len(route) && strings.EqualFold(path[:len(route)], route)
}

// pathAllowed decodes the path once and refuses a .. segment or a NUL. Some servers take a backslash for a slash, and
// some cut a segment off at a semicolon, so both end a segment here.
func pathAllowed(path string) bool {
	decoded, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.IndexByte(decoded, 0) >= 0 {
		return false // no leading slash: a full URL, an authority or *
	}
	for rest := decoded; rest != ""; {
		segment := rest
		if end := strings.IndexAny(rest, `/\`); end >= 0 {
			segment, rest = rest[:end], rest[end+1:]
		} else {
			rest = ""
		}
		if name, _, _ := strings.Cut(segment, ";"); name == ".." {
			return false
		}
	}
	return true
}

// loopbackHost reports whether a Host header names this machine's loopback. A web page whose own name was made to
// resolve to 127.0.0.1 still sends that name.
func loopbackHost(host string) bool {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i+1:]
	}
	if len(port) > 5 || strings.Trim(port, "0123456789") != "" {
		return false
	}
	if bracketed, ok := strings.CutPrefix(name, "["); ok {
		inside, ok := strings.CutSuffix(bracketed, "]")
		addr, err := netip.ParseAddr(inside)
		return ok && err == nil && addr == netip.IPv6Loopback()
	}
	if strings.Count(host, ":") > 1 { // some clients leave the brackets out
		addr, err := netip.ParseAddr(host)
		return err == nil && addr == netip.IPv6Loopback()
	}
	name = strings.TrimSuffix(name, ".")
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Is4() && addr.IsLoopback()
}

// fromBrowser reports whether a browser sent the request. A program sends no Origin; an empty one counts, and so does
// the "null" of a sandboxed frame.
func fromBrowser(r *http.Request) bool {
	return len(r.Header["Origin"]) > 0 || strings.EqualFold(r.Method, http.MethodConnect)
}

// methodAllowed refuses OPTIONS, which only browsers need here, and TRACE (TRACK on some servers), whose answer would
// hold the request with the real credential. It ignores case, as some servers do.
func methodAllowed(method string) bool {
	for _, refused := range [...]string{http.MethodOptions, http.MethodTrace, "TRACK"} {
		if strings.EqualFold(method, refused) {
			return false
		}
	}
	return true
}

func wantsUpgrade(h http.Header) bool {
	if len(h["Upgrade"]) > 0 {
		return true
	}
	for name := range connectionNames(h) {
		if name == "Upgrade" {
			return true
		}
	}
	return false
}
