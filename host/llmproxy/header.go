package llmproxy

import (
	"net/http"
	"strings"
)

const (
	pairingHeader = "X-Agentdesktop-Pairing"
	betaHeader    = "Anthropic-Beta"
	oauthBeta     = "oauth-2025-04-20" // without it the provider refuses an OAuth token
	apiKeyPrefix  = "sk-ant-api"
)

// maxPresented bounds the values that one request may present as its pairing: each costs a lookup.
const maxPresented = 8

// presented appends to values every one that a request on the sandbox route offers as a pairing (P06). A client
// may fill one header with the pairing and another with some key of its own: the registry decides which is which.
func presented(values []string, h http.Header) []string {
	for _, name := range [...]string{pairingHeader, "Authorization", "X-Api-Key"} {
		for _, v := range h[name] {
			if name == "Authorization" {
				scheme, rest, _ := strings.Cut(v, " ")
				if !strings.EqualFold(scheme, "Bearer") {
					continue
				}
				v = strings.TrimLeft(rest, " ")
			}
			if len(values) == maxPresented {
				return nil
			}
			values = append(values, v)
		}
	}
	return values
}

// stripped says whether a client's header stays here (P08): credentials of whatever provider, what belongs to
// one hop (RFC 9110, 7.6.1), and what the transport writes by itself. Some servers take an underscore in a name for a
// dash, so it counts as one.
func stripped(name string) bool {
	if strings.IndexByte(name, '_') >= 0 {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	switch name {
	case "Authorization", "X-Api-Key", "Api-Key", "X-Llm-Token", "Proxy-Authorization", "Cookie", pairingHeader:
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

// requestHeader is what the upstream sees of a client's header: everything but what is stripped, what a
// Connection header names, and any field that holds the pairing; and then, where no Connection header can
// reach it any more, the credential. bearer is "Bearer " and the credential, in one string to save a copy; room
// is for the values that are added.
func requestHeader(in http.Header, pairing, bearer string, room *[2]string) http.Header {
	out := make(http.Header, len(in)+2)
	for name, values := range in {
		if !stripped(name) && !holds(name, values, pairing) {
			out[name] = values
		}
	}
	removeNamed(out, in["Connection"])
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = nil // else the transport adds its own
	}
	if secret := bearer[len("Bearer "):]; strings.HasPrefix(secret, apiKeyPrefix) {
		room[0] = secret
		out["X-Api-Key"] = room[:1:1]
		return out
	}
	room[0], room[1] = bearer, withOAuthBeta(out[betaHeader])
	out["Authorization"], out[betaHeader] = room[:1:1], room[1:]
	return out
}

// withOAuthBeta joins the beta lines that a client sent, and adds the one for OAuth if it is not among them.
func withOAuthBeta(lines []string) string {
	sent := ""
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case sent == "":
			sent = line
		default:
			sent += "," + line
		}
	}
	for beta := range strings.SplitSeq(sent, ",") {
		if strings.TrimSpace(beta) == oauthBeta {
			return sent
		}
	}
	if sent == "" {
		return oauthBeta
	}
	return sent + "," + oauthBeta
}

// responseHeader copies an upstream's header to out, without what belongs to one hop and without any field
// that holds the credential: an upstream that echoes its request must not hand it to the sandbox.
func responseHeader(out, in http.Header, secret string) {
	for name, values := range in {
		if !hopByHop(name) && !holds(name, values, secret) {
			out[name] = values
		}
	}
	removeNamed(out, in["Connection"])
}

// requestTrailer filters a request's trailer like its header; there a Connection header has no say.
func requestTrailer(out, in http.Header, pairing string) {
	for name, values := range in {
		if !stripped(name) && !holds(name, values, pairing) {
			out[name] = values
		}
	}
}

// shortest is the least length of a secret that is looked for: anything shorter stands in header fields by chance.
const shortest = 16

// holds says whether a header field carries text, in its name or a value. Net/http has changed the case of
// the name.
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

// removeNamed removes the fields that a Connection header names.
func removeNamed(h http.Header, connection []string) {
	for _, v := range connection {
		for name := range strings.SplitSeq(v, ",") {
			delete(h, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// inTarget says whether text stands in a request target, as it is or escaped.
func inTarget(path, query, text string) bool {
	if text == "" {
		return false
	}
	for _, part := range []string{path, query} {
		if strings.Contains(part, text) || strings.Contains(unescapeGood(part), text) {
			return true
		}
	}
	return false
}

// unescapeGood decodes the good escapes and leaves the rest as it is: in a query anything goes.
func unescapeGood(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			out.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
