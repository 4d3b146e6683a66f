package llmproxy

import (
	"net/http"
	"net/netip"
	"strings"
)

// The checks that come before anything else (P07). All are pure, and none knows the configuration.

// gate runs the checks in their order; path is what splitTarget returned. sandboxOnly is for a listener that
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
	case strayRoute(path), sandboxOnly && !onSandbox(path):
		return refuseRoute
	}
	return nil
}

// splitTarget cuts a request target, exactly as sent, into path and query; the query keeps its question mark.
func splitTarget(target string) (path, query string) {
	if i := strings.IndexByte(target, '?'); i >= 0 {
		return target[:i], target[i:]
	}
	return target, ""
}

// onSandbox says whether path, as sent, is on the sandbox route. An escaped spelling of it is not.
func onSandbox(path string) bool {
	return path == "/sandbox" || strings.HasPrefix(path, "/sandbox/")
}

// strayRoute says whether the first segment would look like the sandbox route to a reader, and is not it: a
// typing mistake must not fall through to the other route, which has another credential.
func strayRoute(path string) bool {
	if onSandbox(path) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	decoded, ok := unescape(first)
	return !ok || len(decoded) >= len("sandbox") && strings.EqualFold(decoded[:len("sandbox")], "sandbox")
}

// pathAllowed looks at the path as sent and decodes it once. Both slashes part segments, since some servers
// take a backslash for one, and a segment ends at a semicolon, since some servers cut parameters off there.
func pathAllowed(path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false // a full URL, an authority or *
	}
	decoded, ok := unescape(path)
	if !ok || strings.IndexByte(decoded, 0) >= 0 {
		return false
	}
	for len(decoded) > 0 {
		segment := decoded
		end := strings.IndexAny(decoded, `/\`)
		if end >= 0 {
			segment, decoded = decoded[:end], decoded[end+1:]
		} else {
			decoded = ""
		}
		if segment, _, _ = strings.Cut(segment, ";"); segment == ".." {
			return false
		}
	}
	return true
}

// unescape decodes percent escapes once and says whether all were good. A + stays: this is no form.
func unescape(s string) (string, bool) {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s, true
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		out = append(out, byte(hi<<4|lo))
		i += 2
	}
	return string(out), true
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// loopbackHost says whether a Host header names this machine's loopback: a page in a browser whose own name
// was pointed at 127.0.0.1 still sends its own name.
func loopbackHost(host string) bool {
	name, rest := host, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return false
		}
		addr, err := netip.ParseAddr(host[1:end])
		return err == nil && addr == netip.IPv6Loopback() && validPort(host[end+1:])
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		name, rest = host[:i], host[i:]
	}
	name = strings.TrimSuffix(name, ".")
	if !validPort(rest) {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Is4() && addr.IsLoopback()
}

// validPort takes "", ":" and ":" with up to five digits.
func validPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) > 6 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// fromBrowser: programs send no Origin. An empty one counts, a sandboxed frame's "null" too.
func fromBrowser(r *http.Request) bool {
	return len(r.Header["Origin"]) > 0 || strings.EqualFold(r.Method, http.MethodConnect)
}

// methodAllowed refuses OPTIONS, which only browsers need here, and TRACE (TRACK on some servers), whose answer
// would hold the request with the real credential in it. Servers may ignore a method's case, so this does too.
func methodAllowed(method string) bool {
	for _, refused := range []string{http.MethodOptions, http.MethodTrace, "TRACK"} {
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
	for _, v := range h["Connection"] {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}
