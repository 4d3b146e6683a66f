package llmproxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestB04SessionListener(t *testing.T) {
	arrived, more := make(chan bool), make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/slow" {
			arrived <- true
			<-more
		}
		io.WriteString(w, "done")
	})
	_, other, err := r.proxy.Create("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	l := listenLoopback(t)
	done := make(chan error, 1)
	go func() { done <- r.proxy.ServeSession(l, r.session.ID, nil) }()
	shared := r.addr
	r.addr = l.Addr().String()
	for _, c := range []struct {
		name, target, header string
		status               int
		code                 string
	}{
		{"own", "/sandbox/x", r.bearer(), 200, ""},
		{"another session's", "/sandbox/x", "x-api-key: " + string(other.Reveal()), 403, "pairing_invalid"},
		{"device", "/sandbox/x", "x-agentdesktop-pairing: " + deviceTest, 403, "pairing_invalid"},
		{"device on its route", "/v1/models", "x-agentdesktop-pairing: " + deviceTest, 404, "route_unknown"},
		{"own on the other route", "/v1/models", r.bearer(), 404, "route_unknown"},
	} {
		resp, body := r.get("GET", c.target, c.header)
		if resp.StatusCode != c.status || c.code != "" && code(t, resp, body) != c.code {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
	}
	// The listener closes: an idle connection goes with it, a running response completes, the shared listener stays.
	idle, busy := r.dial(), r.dial()
	idle.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	idle.response("GET")
	busy.send("GET /sandbox/slow HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	<-arrived
	l.Close()
	if err := <-done; err != nil {
		t.Errorf("ServeSession: %v", err)
	}
	if _, err := idle.r.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection stays: %v", err)
	}
	close(more)
	if resp, body := busy.response("GET"); resp.StatusCode != 200 || body != "done" {
		t.Errorf("the running response: %d %q", resp.StatusCode, body)
	}
	r.addr = shared
	if resp, _ := r.get("GET", "/sandbox/x", r.bearer()); resp.StatusCode != 200 {
		t.Errorf("shared listener: %d", resp.StatusCode)
	}
	if !strings.HasSuffix(r.proxy.BaseURL(), shared+"/sandbox") {
		t.Errorf("base URL %q", r.proxy.BaseURL())
	}
	r.proxy.Close()
	if err := r.proxy.Start(listenLoopback(t)); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Start on a closed proxy: %v", err)
	}
}
