package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestH04ErrorsAreJSON(t *testing.T) {
	s := &server{sessions: &registry{log: discard, byID: map[string]*session{}}, events: newEvents()}
	pairings := http.NewServeMux()
	pairings.HandleFunc("POST /v1/llm-proxy/sessions", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the model proxy is not listening", http.StatusConflict)
	})
	routes := s.handler(pairings)
	for _, c := range []struct {
		method, path, accept string
		status               int
		body                 string
	}{
		{"GET", "/nosuch", "", 404, `{"error":"not_found","message":"no route \"/nosuch\""}`},
		{"GET", "/", "", 404, `{"error":"not_found","message":"no route \"/\""}`},
		{"PUT", "/sessions", "text/plain", 405, `{"error":"method_not_allowed","message":"\"/sessions\" does not take \"PUT\" but GET, HEAD"}`},
		{"GET", "/sessions/x", "", 404, `{"error":"session_unknown","message":"no session \"x\""}`},
		{"POST", "/v1/llm-proxy/sessions", "", 409, "the model proxy is not listening"},
		{"POST", "/v1/llm-proxy/sessions", "*/*", 409, "the model proxy is not listening"},
		{"POST", "/v1/llm-proxy/sessions", "text/html, Application/JSON;q=0.9", 409, `{"error":"not_listening","message":"the model proxy is not listening"}`},
		{"PUT", "/v1/llm-proxy/sessions", "application/json", 405, `{"error":"method_not_allowed","message":"\"/v1/llm-proxy/sessions\" does not take \"PUT\" but POST"}`},
		{"GET", "/v1/llm-proxy/nosuch", "application/json", 404, `{"error":"not_found","message":"no route \"/v1/llm-proxy/nosuch\""}`},
		{"GET", "/v1/llm-proxy/nosuch", "", 404, "404 page not found"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		kind := "application/json"
		if !strings.HasPrefix(c.body, "{") {
			kind = "text/plain; charset=utf-8"
		}
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || got != c.body || w.Header().Get("Content-Type") != kind || w.Code == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s, accepting %q: %d %v %s", c.method, c.path, c.accept, w.Code, w.Header(), got)
		}
	}
}
