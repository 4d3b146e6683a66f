//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"
)

// host is a running `host serve`, and a client that keeps its connections.
type host struct {
	*proc
	*home
	bench  *bench
	client *http.Client
	made   int // sessions asked for
}

func (b *bench) startHost(name, upstream string, more ...string) (*host, error) {
	place, err := b.newHome(name, upstream)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(b.bin, "host"), "serve")
	cmd.Env = append(place.env, more...)
	p, err := b.start("host-"+name, cmd)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(place.state, "host.sock")
	h := &host{proc: p, home: place, bench: b, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 8,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
	return h, until("host serve", 10*time.Second, func() bool { return h.call("GET", "/status", nil, nil) == nil })
}

// call is one request on the host's socket; a status other than 2xx is an error.
func (h *host) call(method, path string, request, answer any) error {
	var body io.Reader
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, "http://host"+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// view is what is read of a session.
type view struct {
	SessionID   string `json:"session_id"`
	State       string `json:"state"`
	RootPID     int    `json:"root_pid"`
	Credential  string `json:"credential"`
	Sandbox     bool   `json:"sandbox"`
	OutputBytes int64  `json:"output_bytes"`
}

// launch asks for one session, sandboxed and with the token, and returns once the answer is there.
func (h *host) launch(id, kind string, argv ...string) (view, time.Duration, error) {
	request := map[string]any{
		"v": 1, "session_id": id, "kind": kind, "directory": h.bench.project(), "name": "bench", "project": "bench",
		"template_id": benchTemplate, "argv": argv, "sandbox": map[string]any{},
	}
	if kind == "pty" {
		request["pty"] = map[string]int{"cols": 120, "rows": 40}
	}
	var answer struct {
		Body view `json:"body"`
	}
	begun := time.Now()
	err := h.call("POST", "/launch", request, &answer)
	took := time.Since(begun)
	if err == nil && (!answer.Body.Sandbox || answer.Body.Credential != "token") {
		err = fmt.Errorf("session %s: sandbox %v, credential %q", id, answer.Body.Sandbox, answer.Body.Credential)
	}
	return answer.Body, took, err
}

// launches is a side that launches /bin/true, waits for the answer, and, off the clock, for the session's end.
func (h *host) launches(name, kind string) *side {
	return &side{name: name, once: func() (float64, error) {
		h.made++
		id := fmt.Sprintf("%s-%d", kind, h.made)
		_, took, err := h.launch(id, kind, "/bin/true")
		if err != nil {
			return 0, err
		}
		return micros(took), h.awaitEnd(id)
	}}
}

func (h *host) awaitEnd(id string) error {
	return until("the end of session "+id, 10*time.Second, func() bool {
		var v view
		return h.call("GET", "/sessions/"+id, nil, &v) == nil && v.State == "ended"
	})
}

// sessions are those that the host lists.
func (h *host) sessions() ([]view, error) {
	var list struct {
		Sessions []view `json:"sessions"`
	}
	err := h.call("GET", "/sessions", nil, &list)
	return list.Sessions, err
}

// pairing makes one at the host's proxy, and returns it with the proxy's address.
func (h *host) pairing() (secret, address string, err error) {
	var answer struct {
		Pairing string `json:"pairing"`
		BaseURL string `json:"baseUrl"`
	}
	err = h.call("POST", "/v1/llm-proxy/sessions", map[string]any{"clientId": "bench", "idleTimeoutSeconds": 86400}, &answer)
	if err != nil {
		return "", "", err
	}
	address = answer.BaseURL[len("http://"):]
	host, _, _ := bytes.Cut([]byte(address), []byte("/"))
	return answer.Pairing, string(host), nil
}
