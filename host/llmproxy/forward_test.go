package llmproxy

import (
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// seen records what the upstream was asked, header as received.
type seen struct {
	method, target, host string
	header               http.Header
	body                 string
	trailer              http.Header
	length               int64
	encoding             []string
}

func recordTo(c chan<- seen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c <- seen{r.Method, r.RequestURI, r.Host, r.Header.Clone(), string(body), r.Trailer.Clone(), r.ContentLength, r.TransferEncoding}
		w.Header().Set("X-Up", "yes")
		fmt.Fprint(w, "ok")
	}
}

func TestP08Target(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	for sent, want := range map[string]string{
		"/sandbox":                        "/",
		"/sandbox?x=1":                    "/?x=1",
		"/sandbox/":                       "/",
		"/sandbox/v1/messages?beta=true":  "/v1/messages?beta=true",
		"/sandbox/a?":                     "/a?",
		"/sandbox/a??b?c=%zz&d=..":        "/a??b?c=%zz&d=..",
		"/sandbox//a":                     "//a",
		"/sandbox//a//b?c":                "//a//b?c",
		"/sandbox///":                     "///",
		"/sandbox/%41%2F%2f;x=1,2":        "/%41%2F%2f;x=1,2",
		"/sandbox/a%20b+c":                "/a%20b+c",
		"/sandbox/%252e%252e/":            "/%252e%252e/",
		"/sandbox/a|b^{c}\"<d>":           "/a|b^{c}\"<d>",
		"/sandbox/é":                      "/é",
		"/sandbox/a#b?c#d":                "/a#b?c#d",
		"/sandbox/./a/...":                "/./a/...",
		"/sandbox/sandbox/x":              "/sandbox/x",
		"/sandbox/http://example.com/?u=": "/http://example.com/?u=",
	} {
		resp, body := r.get("GET", sent, r.bearer())
		if resp.StatusCode != 200 || body != "ok" {
			t.Errorf("%s: %d %q", sent, resp.StatusCode, body)
			continue
		}
		if s := <-got; s.target != want {
			t.Errorf("%s went out as %s, want %s", sent, s.target, want)
		}
	}
	resp, body := r.get("GET", "/sandbox//a|b", r.bearer())
	if resp.StatusCode != 400 || code(t, resp, body) != "path_invalid" {
		t.Errorf("what cannot be sent as it is: %d %s", resp.StatusCode, body)
	}
}

func TestP08Header(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	resp, _ := r.get("GET", "/sandbox/x", r.bearer(), "X-Api-Key: "+r.pairing, "x-agentdesktop-pairing: "+r.pairing, "Api-Key: k",
		"X-LLM-Token: k", "X-Goog-Api-Key: k", "Proxy-Authorization: Basic k", "Cookie: a=b", "X-Copy: a "+r.pairing+" b", "X-"+r.pairing+": 1",
		"Connection: close, X-Named, authorization, anthropic-beta , x-api-key, User-Agent,host", "Keep-Alive: timeout=5", "Proxy-Connection: close",
		"TE: trailers", "X-Named: 1", "Anthropic-Beta: gone-with-connection", "User-Agent: named/1",
		"X-Kept: 1", "X-Kept: 2", "accept-ENCODING: br;q=1", "X-Forwarded-For: 10.1.1.1", "Via: 1.0 me", "Forwarded: for=me")
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	s := <-got
	want := http.Header{
		"Authorization": {"Bearer " + realToken}, "Anthropic-Beta": {oauthBeta}, "X-Kept": {"1", "2"}, "Accept-Encoding": {"br;q=1"},
		"X-Forwarded-For": {"10.1.1.1"}, "Via": {"1.0 me"}, "Forwarded": {"for=me"},
	}
	if !maps.EqualFunc(s.header, want, slices.Equal) {
		t.Errorf("upstream saw %v", s.header)
	}
	if "http://"+s.host != r.upstream.URL {
		t.Errorf("upstream saw Host %q", s.host)
	}
	if r.asked[0] != "claude-code" {
		t.Errorf("credential asked for %q", r.asked)
	}
	r.get("GET", "/sandbox/x", r.bearer())
	if s := <-got; len(s.header) != 2 || s.length != 0 || len(s.encoding) != 0 {
		t.Errorf("something was added: %v, length %d, encoding %v", s.header, s.length, s.encoding)
	}
}

func TestP08CredentialShape(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	for _, c := range []struct {
		token  string
		betas  []string
		bearer string
		apiKey string
		beta   []string
	}{
		{realToken, nil, "Bearer " + realToken, "", []string{oauthBeta}},
		{realToken, []string{"a,b"}, "Bearer " + realToken, "", []string{"a,b," + oauthBeta}},
		{realToken, []string{"a", "", "b"}, "Bearer " + realToken, "", []string{"a,b," + oauthBeta}},
		{realToken, []string{"a, " + oauthBeta + " ,b"}, "Bearer " + realToken, "", []string{"a, " + oauthBeta + " ,b"}},
		{realToken, []string{"x" + oauthBeta}, "Bearer " + realToken, "", []string{"x" + oauthBeta + "," + oauthBeta}},
		{"opaque", []string{"a"}, "Bearer opaque", "", []string{"a"}}, // another provider's
		{"sk-ant-api03-key", []string{"a"}, "", "sk-ant-api03-key", []string{"a"}},
		{"sk-ant-api03-key", nil, "", "sk-ant-api03-key", nil},
	} {
		r.set(func() { r.token = c.token })
		header := []string{r.bearer()}
		for _, b := range c.betas {
			header = append(header, "anthropic-beta: "+b)
		}
		r.get("GET", "/sandbox/x", header...)
		h := (<-got).header
		if h.Get("Authorization") != c.bearer || h.Get("X-Api-Key") != c.apiKey || !slices.Equal(h["Anthropic-Beta"], c.beta) {
			t.Errorf("%+v: upstream saw %v", c, h)
		}
	}
}

func TestP06Headers(t *testing.T) {
	got := make(chan seen, 1)
	r := newRig(t, recordTo(got))
	_, other, _ := r.proxy.Create("other", 0)
	second := string(other.Reveal())
	for _, c := range []struct {
		name   string
		header []string
		ok     bool
	}{
		{"own header", []string{"X-AgentDesktop-Pairing: " + r.pairing}, true},
		{"bearer", []string{"Authorization: Bearer " + r.pairing}, true},
		{"bearer in other case", []string{"authorization: bEaReR   " + r.pairing}, true},
		{"api key", []string{"x-api-key: " + r.pairing}, true},
		{"google's key", []string{"x-goog-api-key: " + r.pairing}, true},
		{"azure's key", []string{"API-Key: " + r.pairing}, true},
		{"basic, as password", []string{"Authorization: basic " + base64.StdEncoding.EncodeToString([]byte("git:"+r.pairing))}, true},
		{"basic, as user", []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(r.pairing+":"))}, true},
		{"beside another key", []string{"x-api-key: sk-ant-other", r.bearer()}, true},
		{"none", nil, false},
		{"basic, not encoded", []string{"Authorization: Basic " + r.pairing}, false},
		{"basic, in a piece", []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(r.pairing))}, false},
		{"basic, another", []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("git:x"+r.pairing))}, false},
		{"bare", []string{"Authorization: " + r.pairing}, false},
		{"wrong", []string{"Authorization: Bearer " + strings.Repeat("A", 43)}, false},
		{"device", []string{"x-agentdesktop-pairing: " + deviceTest}, false},
		{"cookie", []string{"Cookie: pairing=" + r.pairing}, false},
		{"two sessions", []string{r.bearer(), "x-api-key: " + second}, false},
		{"too many", append(slices.Repeat([]string{"x-api-key: k"}, 8), r.bearer()), false},
	} {
		resp, body := r.get("GET", "/sandbox/x", c.header...)
		if ok := resp.StatusCode == 200; ok != c.ok {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		} else if ok {
			<-got
		} else if resp.StatusCode != 403 || code(t, resp, body) != "pairing_invalid" {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
	}
}

func TestPairingInTarget(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 1)))
	escaped := fmt.Sprintf("%%%02x%s", r.pairing[0], r.pairing[1:])
	for i, target := range []string{"/sandbox/" + r.pairing, "/sandbox/x?k=" + r.pairing, "/sandbox/x?k=" + escaped, "/sandbox/" + escaped} {
		resp, body := r.get("GET", target, r.bearer())
		if resp.StatusCode != 400 || code(t, resp, body) != "path_invalid" {
			t.Errorf("%s: %d %s", target, resp.StatusCode, body)
		}
		r.wantLine(i+1, map[string]any{"code": "path_invalid", "session": r.session.ID})
	}
	if resp, body := r.get(r.pairing, "/sandbox/x", r.bearer()); resp.StatusCode != 400 || code(t, resp, body) != "path_invalid" {
		t.Errorf("in the method: %d %s", resp.StatusCode, body)
	}
	if strings.Contains(r.log.String(), r.pairing[1:]) {
		t.Errorf("the log holds the pairing: %s", r.log)
	}
}
