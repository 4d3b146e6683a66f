package llmproxy

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hostshim/host/credential"
)

// Provider is where a client's requests go, with which credential and within which limits (A01). All of it comes from
// one reading of the settings: a change between two readings would send one provider's credential to another.
type Provider struct {
	Upstream   *url.URL
	Credential credential.Secret // the proxy wipes it
	Auth       string            // how the credential is sent, as credential.ValidAuth has it; "" goes by the credential (P08)
	Limits     Limits
	Own        bool // the credential is the client's own, or the service's
}

// Limits are what requests of a client, or to a service, may do. The zero value limits nothing.
type Limits struct {
	Paths     []string // nil allows all; one that ends in * allows what begins like it; fetch: or push: before a repository is for git
	Methods   []string // nil allows all
	PerMinute int      // requests of one session in any minute; 0: no limit
	Total     int      // requests of one session in all; 0: no limit
}

// sent is a credential as it goes upstream.
type sent struct {
	header  string
	values  [2]string // of that header, and of betaHeader; a request's header refers to them
	oauth   bool
	secrets [2]string // what must not come back: the credential, and its value in the header
}

// shape fills s with the credential in the form that auth names, and returns false if there is no such form.
func (s *sent) shape(auth string, secret []byte) bool {
	const bearer = "Bearer "
	inBearer := bearer + string(secret) // a secret is one allocation, however it is sent
	token := inBearer[len(bearer):]
	if auth == "" {
		auth = "bearer"
		if strings.HasPrefix(token, apiKeyPrefix) {
			auth = "x-api-key"
		}
	}
	value := token
	user, basic := strings.CutPrefix(auth, "basic:")
	switch {
	case !credential.ValidAuth(auth):
		return false
	case basic:
		value = base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
		s.header, s.values[0] = "Authorization", "Basic "+value
	case auth == "bearer":
		s.header, s.values[0] = "Authorization", inBearer
		s.oauth = strings.HasPrefix(token, oauthPrefix)
	default:
		s.header, s.values[0] = http.CanonicalHeaderKey(auth), token
	}
	s.secrets = [2]string{token, value}
	return true
}

const googleAuth = "x-goog-api-key"

// keyInQuery reports whether a query holds what Google's APIs take for a credential beside the header. A pairing there
// would reach logs, and a key of the client's own would stand beside the real one.
func keyInQuery(query string) bool {
	for part := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '?' || c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		switch strings.ToLower(unescapeGood(name)) {
		case "key", "access_token", "oauth_token":
			return true
		}
	}
	return false
}

// spend counts a request that is about to go upstream, unless it is over a limit. One to a service is none of those to the
// model that a client may make.
func (r *registry) spend(id string, l Limits, model bool) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.find(id), r.now().run
	if e == nil {
		return refusePairing // it ended a moment ago
	}
	if l.Total > 0 && e.spent >= l.Total {
		return &refusal{http.StatusForbidden, "quota_exceeded", fmt.Sprintf("the session has made the %d requests that its client allows", l.Total), 0}
	}
	if l.PerMinute > 0 {
		old := slices.IndexFunc(e.recent, func(began time.Duration) bool { return now-began < time.Minute })
		if old < 0 {
			old = len(e.recent)
		}
		e.recent = slices.Delete(e.recent, 0, old)
		if over := len(e.recent) - l.PerMinute; over >= 0 {
			wait := e.recent[over] + time.Minute - now
			text := fmt.Sprintf("the session has made the %d requests that its client allows in a minute", l.PerMinute)
			return &refusal{http.StatusTooManyRequests, "rate_limited", text, int((wait + time.Second - 1) / time.Second)}
		}
		e.recent = append(e.recent, now)
	}
	e.pairing.Requests++
	if model {
		e.spent++
	}
	return nil
}

// lost notes that a request found no upstream, and where and why.
func (r *registry) lost(id, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.find(id); e != nil {
		e.pairing.Lost++
		e.pairing.Failure = failure
	}
}
