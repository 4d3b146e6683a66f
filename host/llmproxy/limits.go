package llmproxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What the paths and methods of a client or a service let through (A01, A04). All are pure functions.

// Before a repository in an entry of Limits.Paths.
const (
	entryFetch = "fetch:" // git may read it
	entryPush  = "push:"  // git may read and change it
)

// allow reports whether the limits let a request through; target is what the upstream is asked for.
func (l Limits) allow(method, target string, h http.Header) bool {
	if l.Methods != nil && (!slices.Contains(l.Methods, method) || hasAny(h, methodHeaders)) {
		return false
	}
	if l.Paths == nil {
		return true
	}
	path, query := splitTarget(target)
	decoded, err := url.PathUnescape(path)
	if err != nil || ambiguous(path) || hasAny(h, pathHeaders) {
		return false
	}
	access, repository := gitRequest(method, decoded, query)
	return slices.ContainsFunc(l.Paths, func(entry string) bool {
		if pattern, ok := strings.CutPrefix(entry, entryPush); ok {
			return access != "" && pathMatches(pattern, repository)
		}
		if pattern, ok := strings.CutPrefix(entry, entryFetch); ok {
			return access == entryFetch && pathMatches(pattern, repository)
		}
		return !pushes(target) && pathMatches(entry, decoded)
	})
}

// Headers by which frameworks let a request say that it means another method, or another path, than its first line has.
var (
	methodHeaders = []string{"X-Http-Method-Override", "X-Method-Override", "X-Http-Method"}
	pathHeaders   = []string{"X-Original-Url", "X-Rewrite-Url"}
)

// hasAny reports whether h has one of the headers, also with an underscore for a dash.
func hasAny(h http.Header, names []string) bool {
	for name := range h {
		if slices.Contains(names, http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))) {
			return true
		}
	}
	return false
}

// ambiguous reports whether a path, as sent, has an escape that servers read differently: some split a path before they
// decode it, and some decode it twice.
func ambiguous(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc([]string{"%2f", "%5c", "%2e", "%25"}, func(escape string) bool { return strings.Contains(path, escape) })
}

// pathMatches compares a decoded path with an entry of Limits.Paths. Below a * only a plain path matches: an upstream
// may take a second escape, a backslash, an empty segment or a dot for the way to somewhere else.
func pathMatches(pattern, decoded string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	if !open {
		return decoded == pattern
	}
	plain := !strings.ContainsAny(decoded, `%\;`) && !strings.Contains(decoded, "//") && !strings.Contains(decoded+"/", "/./")
	return plain && strings.HasPrefix(decoded, prefix)
}

// gitRequest says what a request of git's smart protocol wants, entryFetch or entryPush, and of which repository. Only what
// git itself sends counts as one, byte for byte: a server may read a second parameter, or another method, as it likes.
func gitRequest(method, path, query string) (access, repository string) {
	for access, program := range map[string]string{entryFetch: "git-upload-pack", entryPush: "git-receive-pack"} {
		if repository, ok := strings.CutSuffix(path, "/info/refs"); ok && method == http.MethodGet && query == "?service="+program {
			return access, repository
		}
		if repository, ok := strings.CutSuffix(path, "/"+program); ok && method == http.MethodPost && query == "" {
			return access, repository
		}
	}
	return "", ""
}

// pushes reports whether a request may be part of a push, which an entry for paths never covers, however wide it is.
func pushes(target string) bool {
	return strings.Contains(strings.ToLower(unescapeGood(target)), "receive-pack")
}

// refuse is the answer to what the limits do not allow. That of a service names the entry that would, if there is one.
func (l Limits) refuse(service, method, target string, h http.Header) *refusal {
	if service == "" {
		return refuseLimited
	}
	path, query := splitTarget(target)
	decoded, _ := url.PathUnescape(path)
	text := fmt.Sprintf("the paths and methods of service %q do not allow this", service)
	access, repository := gitRequest(method, decoded, query)
	l.Paths = []string{access + repository + "*"} // as strict about what is plain as an entry in the settings
	if access != "" && len(repository) <= 200 && l.allow(method, target, h) {
		text += fmt.Sprintf(": add %q to its paths, llm_proxy.services.%s in settings.json", access+repository, service)
	}
	return &refusal{http.StatusForbidden, "path_not_allowed", text, 0}
}

// refuseService is the answer to a session whose template names no such service, whether or not there is one.
func refuseService(service, template string) *refusal {
	text := fmt.Sprintf("the session may not use service %q: only the launch of a template that names it may", service)
	if template != "" {
		text = fmt.Sprintf(`the session may not use service %q: add it to "services" of template %q`, service, template)
	}
	return &refusal{http.StatusForbidden, "service_not_allowed", text, 0}
}
