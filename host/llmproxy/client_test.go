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
	"time"
)

// Each way to send a credential: exactly one header has it, no other credential goes along, and none comes back.
func TestA01Auth(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:ghp_0123456789abcdefghij"))
	for _, c := range []struct {
		auth, token, header, value string
		beta                       bool
	}{
		{"", realToken, "Authorization", "Bearer " + realToken, true},
		{"", "sk-ant-api03-0123456789", "X-Api-Key", "sk-ant-api03-0123456789", false},
		{"", "sk-proj-0123456789abcdef", "Authorization", "Bearer sk-proj-0123456789abcdef", false},
		{"bearer", realToken, "Authorization", "Bearer " + realToken, true},
		{"bearer", "sk-ant-api03-0123456789", "Authorization", "Bearer sk-ant-api03-0123456789", false},
		{"x-api-key", realToken, "X-Api-Key", realToken, false},
		{"x-goog-api-key", "AIza0123456789abcdefghij", "X-Goog-Api-Key", "AIza0123456789abcdefghij", false},
		{"basic:x-access-token", "ghp_0123456789abcdefghij", "Authorization", "Basic " + basic, false},
	} {
		got := make(chan http.Header, 1)
		r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Clone()
			w.Header().Set("X-Echo", c.token)
			w.Header().Set("X-Basic", basic)
			w.Header().Set("X-Kept", "1")
		})
		r.set(func() { r.token, r.auth = c.token, c.auth })
		resp, _ := r.get("GET", "/sandbox/x", r.bearer(), "X-Api-Key: k", "Api-Key: k", "X-Goog-Api-Key: k", "Cookie: k", "Proxy-Authorization: Basic k",
			"Connection: authorization, x-api-key, x-goog-api-key")
		want := http.Header{c.header: {c.value}}
		if c.beta {
			want[betaHeader] = []string{oauthBeta}
		}
		if h := <-got; !maps.EqualFunc(h, want, slices.Equal) {
			t.Errorf("%s %s: upstream saw %v", c.auth, c.token, h)
		}
		if echoed := resp.Header.Get("X-Basic") != ""; resp.Header.Get("X-Echo") != "" || resp.Header.Get("X-Kept") != "1" || echoed == strings.HasPrefix(c.auth, "basic:") {
			t.Errorf("%s: the client saw %v", c.auth, resp.Header)
		}
	}
}

func TestA01UnknownAuth(t *testing.T) {
	r := newRig(t, recordTo(nil))
	r.set(func() { r.auth = "cookie" })
	if resp, body := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 503 || code(t, resp, body) != "credential_unavailable" {
		t.Errorf("an unknown auth: %d %s", resp.StatusCode, body)
	}
}

// Google's APIs take a key from the query too. There none goes upstream, nor the pairing, which no query presents.
func TestA01KeyInQuery(t *testing.T) {
	got := make(chan seen, 10)
	r := newRig(t, recordTo(got))
	r.set(func() { r.auth = googleAuth })
	for _, query := range []string{"?key=AIza", "?alt=sse&key=", "?a;KEY=1", "?%6bey=1", "?access_token=x", "?x=1&oauth_token"} {
		if resp, body := r.get("GET", "/sandbox/v1beta/models"+query, "x-goog-api-key: "+r.pairing); resp.StatusCode != 400 || code(t, resp, body) != "path_invalid" {
			t.Errorf("%s: %d %s", query, resp.StatusCode, body)
		}
	}
	if resp, body := r.get("GET", "/sandbox/x?key="+r.pairing); resp.StatusCode != 403 || code(t, resp, body) != "pairing_invalid" {
		t.Errorf("a pairing in the query alone: %d %s", resp.StatusCode, body)
	}
	if len(got) != 0 {
		t.Errorf("upstream saw %v", <-got)
	}
	if strings.Contains(r.log.String(), r.pairing) {
		t.Error("the log has the pairing")
	}
	if resp, _ := r.get("GET", "/sandbox/x?alt=sse&keys=1&monkey=2", "x-goog-api-key: "+r.pairing); resp.StatusCode != 200 {
		t.Errorf("another query: %d", resp.StatusCode)
	}
	r.set(func() { r.auth = "" })
	if resp, _ := r.get("GET", "/sandbox/x?key=1", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("another provider's key: %d", resp.StatusCode)
	}
}

// A path that the limits do not allow is refused before anything is counted, and the upstream sees nothing of it.
func TestA01Limits(t *testing.T) {
	got := make(chan seen, 10)
	r := newRig(t, recordTo(got))
	r.set(func() { r.limits = Limits{Paths: []string{"/ok"}, Methods: []string{"GET"}, PerMinute: 2, Total: 4} })
	_, secret, err := r.proxy.Create("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ask := func(method, target, header string, status int, want, after string) {
		t.Helper()
		resp, body := r.get(method, target, header)
		n++
		if resp.StatusCode != status || resp.Header.Get("Retry-After") != after || status != 200 && code(t, resp, body) != want {
			t.Errorf("%s %s: %d %q %s", method, target, resp.StatusCode, resp.Header.Get("Retry-After"), body)
		}
		r.wantLine(n, map[string]any{"status": status, "code": want, "outcome": "complete"})
		if status == 200 {
			<-got
		}
	}
	ask("GET", "/sandbox/other", r.bearer(), 403, "path_not_allowed", "")
	ask("POST", "/sandbox/ok", r.bearer(), 403, "path_not_allowed", "")
	ask("GET", "/sandbox/ok", r.bearer(), 200, "", "")
	r.clock.pass(20500 * time.Millisecond)
	ask("GET", "/sandbox/ok", r.bearer(), 200, "", "")
	ask("GET", "/sandbox/ok", r.bearer(), 429, "rate_limited", "40")
	ask("GET", "/sandbox/ok", "x-api-key: "+string(secret.Reveal()), 200, "", "") // another session has its own count
	r.clock.pass(39 * time.Second)
	ask("GET", "/sandbox/ok", r.bearer(), 429, "rate_limited", "1")
	r.clock.pass(time.Second)
	ask("GET", "/sandbox/ok", r.bearer(), 200, "", "")
	ask("GET", "/sandbox/ok", r.bearer(), 429, "rate_limited", "20")
	r.clock.pass(time.Minute)
	ask("GET", "/sandbox/ok", r.bearer(), 200, "", "")
	ask("GET", "/sandbox/ok", r.bearer(), 403, "quota_exceeded", "")
	if list := r.proxy.List(); list[0].Requests != 4 || list[1].Requests != 1 {
		t.Errorf("counted %d and %d", list[0].Requests, list[1].Requests)
	}
	r.set(func() { r.limits = Limits{} }) // the settings changed: the next request goes by the new ones
	ask("POST", "/sandbox/any", r.bearer(), 200, "", "")
	if len(got) != 0 {
		t.Errorf("upstream saw %v", <-got)
	}
}

// Two clients with upstreams of their own: each upstream sees its own client's credential alone, on connections that
// no other client uses, also while requests of both run and one upstream sends its client to the other.
func TestA01CredentialsStayApart(t *testing.T) {
	type saw struct{ key, from string }
	sawA, sawB := make(chan saw, 100), make(chan saw, 100)
	a := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		sawA <- saw{r.Header.Get("X-Goog-Api-Key"), r.RemoteAddr}
	})
	b := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		sawB <- saw{r.Header.Get("Authorization"), r.RemoteAddr}
		w.Header().Set("Location", a.upstream.URL+"/stolen")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	const keyA, keyB = "AIza-key-of-client-a-alone", "sk-key-of-client-b-alone"
	one := func(clientID, _ string) (Provider, error) {
		base, token, auth := a.base, keyA, "x-goog-api-key"
		if clientID == "b" {
			base, token, auth = b.base, keyB, "bearer"
		}
		return Provider{Upstream: base, Credential: credentialOf(token), Auth: auth}, nil
	}
	a.proxy.config.Provider = one
	secrets := map[string]string{}
	for _, id := range []string{"a", "b"} {
		_, secret, err := a.proxy.Create(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		secrets[id] = string(secret.Reveal())
	}
	const rounds = 20
	done := make(chan bool)
	for id, secret := range secrets {
		go func() {
			defer func() { done <- true }()
			c := a.dial()
			for i := range rounds {
				fmt.Fprintf(c, "GET /sandbox/%d HTTP/1.1\r\nHost: localhost\r\nx-goog-api-key: %s\r\nX-Forwarded-Host: %s\r\n\r\n", i, secret, b.base.Host)
				resp, err := http.ReadResponse(c.r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				if want := map[string]int{"a": 200, "b": 307}[id]; resp.StatusCode != want {
					t.Errorf("client %s: %d", id, resp.StatusCode)
				}
			}
		}()
	}
	<-done
	<-done
	if len(sawA) != rounds || len(sawB) != rounds {
		t.Errorf("%d and %d requests", len(sawA), len(sawB))
	}
	for range rounds {
		if s := <-sawA; s.key != keyA {
			t.Errorf("a's upstream saw %q", s.key)
		}
		if s := <-sawB; s.key != "Bearer "+keyB {
			t.Errorf("b's upstream saw %q", s.key)
		}
	}
}
