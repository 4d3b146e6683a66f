package llmproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func (r *rig) api(method, path, body string) (int, string, http.Header) {
	w := httptest.NewRecorder()
	r.proxy.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, w.Body.String(), w.Header()
}

func TestP01Create(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 1)))
	status, body, header := r.api("POST", sessionsPath, `{"clientId":"my-app","idleTimeoutSeconds":60,"more":1}`)
	want := fmt.Sprintf(`^\{"id":"([0-9a-f]{16})","pairing":"([A-Za-z0-9_-]{43})","clientId":"my-app","baseUrl":"http://%s/sandbox","idleTimeoutSeconds":60,"createdAt":"2026-01-02T03:04:05Z"\}\n$`, regexp.QuoteMeta(r.addr))
	m := regexp.MustCompile(want).FindStringSubmatch(body)
	if status != 201 || m == nil || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", status, body)
	}
	use := func() int { resp, _ := r.get("GET", "/sandbox/x", "x-api-key: "+m[2]); return resp.StatusCode }
	if got := use(); got != 200 {
		t.Errorf("with the new pairing: %d", got)
	}
	status, body, _ = r.api("GET", sessionsPath, "")
	var list struct{ Sessions []map[string]any }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Sessions) != 2 || list.Sessions[1]["id"] != m[1] {
		t.Errorf("list: %d %v %s", status, err, body)
	}
	if strings.Contains(body, m[2]) || strings.Contains(body, `"pairing"`) {
		t.Errorf("the list shows a secret: %s", body)
	}
	for _, want := range []int{204, 404} {
		if status, body, _ = r.api("DELETE", sessionsPath+"/"+m[1], ""); status != want || (body == "") != (want == 204) {
			t.Errorf("delete: %d %q", status, body)
		}
	}
	if got := use(); got != 403 {
		t.Errorf("after the revocation: %d", got)
	}
	if status, _, _ = r.api("PUT", sessionsPath, ""); status != 405 {
		t.Errorf("PUT: %d", status)
	}
}

func TestP01Refusals(t *testing.T) {
	r := newRig(t, recordTo(nil))
	r.set(func() { r.policy = Policy{Allowed: []string{"ok", "own"}, Subscription: []string{"own"}} })
	for _, c := range []struct {
		body   string
		status int
		words  string
	}{
		{``, 400, "request body"},
		{`[]`, 400, "request body"},
		{`{"clientId":"ok"} x`, 400, "request body"},
		{`{"clientId":5}`, 400, "request body"},
		{`{}`, 400, "clientId is missing"},
		{`{"clientId":null}`, 400, "clientId is missing"},
		{`{"clientId":""}`, 400, "client id must match"},
		{`{"clientId":"BAD"}`, 400, `"BAD"`},
		{`{"clientId":"other"}`, 400, `allowed_client_ids: "other"`},
		{`{"clientId":"own"}`, 400, `subscription`},
		{`{"clientId":"ok","idleTimeoutSeconds":0}`, 400, "1 to 86400: got 0"},
		{`{"clientId":"ok","idleTimeoutSeconds":86401}`, 400, "1 to 86400: got 86401"},
		{`{"clientId":"ok","idleTimeoutSeconds":-1}`, 400, "1 to 86400: got -1"},
		{`{"clientId":"ok","idleTimeoutSeconds":1.5}`, 400, "request body"},
		{`{"clientId":"ok","idleTimeoutSeconds":"60"}`, 400, "request body"},
		{`{"clientId":"ok","idleTimeoutSeconds":9999999999999999999}`, 400, "request body"},
		{`{"clientId":"` + strings.Repeat("a", 100_000) + `"}`, 400, "request body"},
		{`{"clientId":"ok","idleTimeoutSeconds":null}`, 201, `"idleTimeoutSeconds":1800`},
	} {
		status, body, header := r.api("POST", sessionsPath, c.body)
		if status != c.status || !strings.Contains(body, c.words) {
			t.Errorf("%.60s: %d %s", c.body, status, body)
		}
		if status != 201 && !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
			t.Errorf("%.60s: %s", c.body, header.Get("Content-Type"))
		}
	}
	r.set(func() { r.policy = Policy{} })
	for range maxPairings {
		r.proxy.Create("a", 0)
	}
	if status, body, _ := r.api("POST", sessionsPath, `{"clientId":"a"}`); status != 429 || !strings.Contains(body, "64") {
		t.Errorf("bound: %d %s", status, body)
	}
}

func TestP05NarrowedWhileRunning(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	// A later subscription leaves the session alone, a narrowed list does not.
	r.set(func() { r.policy = Policy{Subscription: []string{"claude-code"}} })
	r.proxy.expire()
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("after a subscription: %d", resp.StatusCode)
	}
	// Nor does a policy that cannot be had: it only makes no new one.
	r.set(func() {
		r.policy, r.unsure = Policy{Allowed: []string{"other"}}, errors.New("settings f:1:1: not JSON")
	})
	r.proxy.expire()
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("without a policy: %d", resp.StatusCode)
	}
	if status, body, _ := r.api("POST", sessionsPath, `{"clientId":"other"}`); status != 400 || body != "settings f:1:1: not JSON\n" {
		t.Errorf("creation without a policy: %d %s", status, body)
	}
	r.set(func() { r.unsure = nil })
	r.proxy.expire()
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 403 {
		t.Errorf("after the list was narrowed: %d", resp.StatusCode)
	}
	last := r.events[len(r.events)-1]
	if last.Name != EventRevoke || last.Pairing.ID != r.session.ID || last.Reason != endPolicy {
		t.Errorf("event %+v", last)
	}
}

func TestP03Requests(t *testing.T) {
	r := newRig(t, recordTo(make(chan seen, 10)))
	refusals := [][2]string{{"GET", "/sandbox/.."}, {"OPTIONS", "/sandbox/x"}, {"GET", "/sandboxes"}, {"GET", "/v1"}, {"GET", "/sandbox/x"}}
	for _, c := range refusals {
		r.clock.pass(29 * time.Minute)
		r.get(c[0], c[1], r.bearer())
	}
	r.clock.pass(29 * time.Minute)
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("kept alive by requests, refused ones too: %d", resp.StatusCode)
	}
	r.clock.move(time.Hour, 0) // suspended
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 403 {
		t.Errorf("after an hour's sleep: %d", resp.StatusCode)
	}
	r.clock.move(-time.Hour, 0)
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 403 {
		t.Errorf("revived: %d", resp.StatusCode)
	}
}

// Each pairing's end is reported once, with its reason.
func TestEvents(t *testing.T) {
	r := newRig(t, recordTo(nil))
	r.proxy.Create("BAD", 0)
	if !r.proxy.Revoke(r.session.ID) || r.proxy.Revoke(r.session.ID) || r.proxy.Revoke("") {
		t.Error("Revoke")
	}
	s, _, _ := r.proxy.Create("b", time.Second)
	r.clock.pass(time.Second)
	if r.proxy.Revoke(s.ID) || len(r.proxy.List()) != 0 {
		t.Error("an expired pairing was there to revoke")
	}
	want := []struct {
		name, client, reason string
		failed               bool
	}{
		{EventCreate, "claude-code", "", false}, {EventCreate, "BAD", "", true},
		{EventRevoke, "claude-code", endRevoked, false}, {EventCreate, "b", "", false}, {EventRevoke, "b", endIdle, false},
	}
	if len(r.events) != len(want) {
		t.Fatalf("%+v", r.events)
	}
	for i, w := range want {
		e := r.events[i]
		if e.Name != w.name || e.Pairing.ClientID != w.client || e.Reason != w.reason || (e.Err != nil) != w.failed {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if r.events[4].Pairing.ID != s.ID {
		t.Error("another pairing ended")
	}
}
