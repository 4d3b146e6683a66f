package llmproxy

import (
	"encoding/base64"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	pairingHeader = "X-Agentdesktop-Pairing"
	betaHeader    = "Anthropic-Beta"
	oauthBeta     = "oauth-2025-04-20" // the provider refuses an OAuth token without it
	oauthPrefix   = "sk-ant-oat"
	apiKeyPrefix  = "sk-ant-api"
)

// maxPresented bounds the values that one request may present as its pairing, because each costs a lookup.
const maxPresented = 8

// presented appends to values every value that a request on the sandbox route presents as a pairing (P06): each header
// in which some agent sends its key counts. A client may put the pairing into one header and a key of its own into
// another, and only the registry can tell them apart.
func presented(values []string, h http.Header) []string {
	for _, name := range [...]string{pairingHeader, "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		values = append(values, h[name]...)
	}
	for _, v := range h["Authorization"] {
		scheme, rest, _ := strings.Cut(v, " ")
		rest = strings.TrimLeft(rest, " ")
		switch {
		case strings.EqualFold(scheme, "Bearer"):
			values = append(values, rest)
		case strings.EqualFold(scheme, "Basic"):
			pair, _ := base64.StdEncoding.DecodeString(rest)
			if user, password, ok := strings.Cut(string(pair), ":"); ok {
				values = append(values, user, password)
			}
		}
	}
	if len(values) > maxPresented {
		return nil
	}
	return values
}

// stripped reports whether a client's header stays here (P08): a credential for any provider, a field of one hop
// (RFC 9110, 7.6.1), or a field that the transport writes itself. Some servers take an underscore in a name for a dash,
// so an underscore counts as one.
func stripped(name string) bool {
	if strings.IndexByte(name, '_') >= 0 {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	switch name {
	case "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "X-Llm-Token", "Proxy-Authorization", "Cookie", pairingHeader:
		return true
	case "Host", "Content-Length":
		return true
	}
	return hopByHop(name)
}

func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	}
	return false
}

// requestHeader returns what the upstream sees of a client's header. It leaves out what is stripped, what a Connection
// header names, and any field that holds the pairing. It adds the credential last, so that no Connection header can
// remove it.
func requestHeader(in http.Header, pairing string, credential *sent) http.Header {
	out := make(http.Header, len(in)+2)
	copyHeader(out, in, stripped, pairing)
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = nil // else the transport adds its own
	}
	out[credential.header] = credential.values[:1:1]
	if credential.oauth {
		credential.values[1] = withOAuthBeta(out[betaHeader])
		out[betaHeader] = credential.values[1:]
	}
	return out
}

// withOAuthBeta joins the lines that a client sent into one list, and adds the oauth beta if it is missing.
func withOAuthBeta(lines []string) string {
	list := ""
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case list == "":
			list = line
		default:
			list += "," + line
		}
	}
	for beta := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(beta) == oauthBeta {
			return list
		}
	}
	return strings.TrimPrefix(list+","+oauthBeta, ",")
}

// responseHeader copies an upstream's header to out, without the fields of one hop and without any field that holds
// the credential: an upstream that echoes its request must not pass the credential to the sandbox.
func responseHeader(out, in http.Header, credential *sent) {
	copyHeader(out, in, hopByHop, credential.secrets[:]...)
}

// copyHeader copies the fields that need not stay, hold no secret, and are not named by a Connection header.
func copyHeader(out, in http.Header, stays func(name string) bool, secrets ...string) {
	copyTrailer(out, in, stays, secrets...)
	for name := range connectionNames(in) {
		delete(out, name)
	}
}

// copyTrailer does the same for a trailer, where a Connection header has no meaning.
func copyTrailer(out, in http.Header, stays func(name string) bool, secrets ...string) {
	for name, values := range in {
		if !stays(name) && !slices.ContainsFunc(secrets, func(s string) bool { return holds(name, values, s) }) {
			out[name] = values
		}
	}
}

// shortest is the least length of a secret that is looked for. A shorter one may stand in a header by chance.
const shortest = 16

// holds reports whether a header field has text in its name or in a value. It ignores case in the name, which net/http
// has changed.
func holds(name string, values []string, text string) bool {
	if len(text) < shortest {
		return false
	}
	if len(name) >= len(text) && strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
		return true
	}
	for _, v := range values {
		if strings.Contains(v, text) {
			return true
		}
	}
	return false
}

// connectionNames are the fields that a Connection header names.
func connectionNames(h http.Header) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range h["Connection"] {
			for name := range strings.SplitSeq(v, ",") {
				if !yield(http.CanonicalHeaderKey(strings.TrimSpace(name))) {
					return
				}
			}
		}
	}
}

// inTarget reports whether text stands in a request target, as it is or escaped.
func inTarget(path, query, text string) bool {
	if text == "" {
		return false
	}
	for _, part := range [...]string{path, query} {
		if strings.Contains(part, text) || strings.Contains(unescapeGood(part), text) {
			return true
		}
	}
	return false
}

// unescapeGood decodes the valid escapes and keeps the rest as it is, because a query may hold anything.
func unescapeGood(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	parts := strings.Split(s, "%")
	for i, part := range parts {
		if i == 0 {
			continue
		}
		if code, err := strconv.ParseUint(part[:min(2, len(part))], 16, 8); err == nil && len(part) >= 2 {
			parts[i] = string([]byte{byte(code)}) + part[2:]
		} else {
			parts[i] = "%" + part
		}
	}
	return strings.Join(parts, "")
}
