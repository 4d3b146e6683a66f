package llmproxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"hostshim/host/credential"
	"hostshim/host/reach"
)

const (
	sessionsPath = "/v1/llm-proxy/sessions"
	maxCreate    = 64 << 10 // body of a request that makes a pairing
)

var errNotListening = errors.New("the model proxy is not listening")

// Create makes a session pairing for clientID. With an idle of 0 it gets the policy's idle time.
func (p *Proxy) Create(clientID string, idle time.Duration) (Pairing, credential.Secret, error) {
	return p.create(Pairing{ClientID: clientID, Idle: idle})
}

// Launch is a launch that wants a pairing.
type Launch struct {
	ClientID string
	Own      string      // base URL of the only listener that takes the pairing, which ServeSession serves (B04); "": the shared one does
	NoModel  bool        // the pairing is for the way out alone, and no policy is asked
	Hosts    reach.Hosts // what the session may reach by name (N01)
	Services []string    // that it may use (A04)
	Template string      // where both are listed
	ByHand   bool        // --allow-host adds to the hosts
}

// CreateForLaunch makes the pairing of a launch, which the caller revokes when the launch ends. It may stay unused for
// a day, because a person may leave an agent waiting overnight. It does not count towards the bound, which is for
// pairings that somebody forgets. With hosts the pairing has a way out, which the caller ends.
func (p *Proxy) CreateForLaunch(l Launch) (Pairing, credential.Secret, error) {
	wanted := Pairing{ClientID: l.ClientID, Idle: maxIdle, launch: true, own: l.Own, services: l.Services, template: l.Template}
	if l.NoModel {
		wanted.noModel, wanted.Idle = true, math.MaxInt64
	}
	if len(l.Hosts) > 0 {
		wanted.Out = newEgress(p, l)
	}
	pairing, secret, err := p.create(wanted)
	if err != nil {
		wanted.Out.End()
	}
	return pairing, secret, err
}

func (p *Proxy) create(wanted Pairing) (Pairing, credential.Secret, error) {
	pairing, secret, err := p.admit(wanted)
	p.reportEnded()
	if err != nil {
		pairing = wanted
	}
	p.config.Audit(Event{Name: EventCreate, Pairing: pairing, Err: err})
	return pairing, secret, err
}

func (p *Proxy) admit(wanted Pairing) (Pairing, credential.Secret, error) {
	if !wanted.noModel {
		policy, err := p.config.Policy()
		if err == nil {
			wanted.Idle, err = policy.admit(wanted.ClientID, wanted.Idle)
			wanted.ownKey = slices.Contains(policy.OwnKey, wanted.ClientID)
		}
		if err != nil {
			return Pairing{}, credential.Secret{}, err
		}
	}
	return p.registry.create(wanted)
}

// Revoke ends a pairing and reports whether it was there. A running response completes (P11).
func (p *Proxy) Revoke(id string) bool {
	_, ok := p.End(id)
	return ok
}

// End is Revoke for who wants to know what became of the pairing.
func (p *Proxy) End(id string) (Pairing, bool) {
	p.expire()
	pairing, ok := p.registry.revoke(id)
	p.reportEnded()
	return pairing, ok
}

// Pairing returns a live pairing as it is now.
func (p *Proxy) Pairing(id string) (Pairing, bool) { return p.registry.pairing(id) }

// List returns the live pairings, oldest first.
func (p *Proxy) List() []Pairing {
	p.expire()
	return p.registry.list()
}

// expire ends no pairing for its client id while the policy cannot be read: a mistake in the settings makes no pairing
// and ends none (T05).
func (p *Proxy) expire() {
	allowed := func(string) bool { return true }
	if policy, err := p.config.Policy(); err == nil {
		allowed = policy.allows
	}
	p.registry.expire(allowed)
	p.reportEnded()
}

func (p *Proxy) present(values []string) (Pairing, string, bool) {
	pairing, secret, ok := p.registry.present(values)
	p.reportEnded()
	return pairing, secret, ok
}

// reportEnded reports the pairings that ended, outside the registry's lock.
func (p *Proxy) reportEnded() {
	for _, e := range p.registry.takeEnded() {
		e.pairing.upstream.CloseIdleConnections()
		if e.reason != endIdle {
			e.pairing.Out.End() // no way out of a session whose pairing was revoked
		}
		p.config.Audit(Event{Name: EventRevoke, Pairing: e.pairing, Reason: e.reason})
	}
}

// Handler serves the API for session pairings (P01) on the host's own socket, which decides who may call it.
func (p *Proxy) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+sessionsPath, p.handleCreate)
	mux.HandleFunc("GET "+sessionsPath, p.handleList)
	mux.HandleFunc("DELETE "+sessionsPath+"/{id}", p.handleRevoke)
	return mux
}

// sessionView is a pairing as the API shows it.
type sessionView struct {
	ID        string `json:"id"`
	Pairing   string `json:"pairing,omitempty"` // only in the answer to the request that made it
	ClientID  string `json:"clientId"`
	BaseURL   string `json:"baseUrl"`
	Idle      int64  `json:"idleTimeoutSeconds"`
	CreatedAt string `json:"createdAt"`
}

func view(p Pairing, baseURL string) sessionView {
	return sessionView{
		ID: p.ID, ClientID: p.ClientID, BaseURL: baseURL,
		Idle: int64(p.Idle / time.Second), CreatedAt: p.Created.UTC().Format(time.RFC3339),
	}
}

func (p *Proxy) handleCreate(w http.ResponseWriter, r *http.Request) {
	clientID, idle, err := readCreate(http.MaxBytesReader(w, r.Body, maxCreate))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	baseURL := p.BaseURL()
	if baseURL == "" {
		http.Error(w, errNotListening.Error(), http.StatusConflict)
		return
	}
	pairing, secret, err := p.Create(clientID, idle)
	if err != nil {
		http.Error(w, err.Error(), createStatus(err))
		return
	}
	v := view(pairing, baseURL)
	v.Pairing = string(secret.Reveal())
	secret.Wipe()
	writeJSON(w, http.StatusCreated, v)
}

func createStatus(err error) int {
	if errors.Is(err, ErrBound) {
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

// unreadable says what is wrong with a body, without naming Go's types.
func unreadable(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return `empty: want {"clientId": "…"}`
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Sprintf(`%s: want an object, {"clientId": "…"}`, kind.Value)
	case errors.As(err, &kind) && kind.Type.Kind() == reflect.String:
		return fmt.Sprintf("%s: want a string, got %s", strings.TrimPrefix(kind.Field, "."), kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s: want a whole number, got %s", strings.TrimPrefix(kind.Field, "."), kind.Value)
	}
	return err.Error()
}

// readCreate reads {"clientId", "idleTimeoutSeconds"?}. It ignores members that it does not know.
func readCreate(body io.Reader) (clientID string, idle time.Duration, err error) {
	var request struct {
		ClientID *string `json:"clientId"`
		Idle     *int64  `json:"idleTimeoutSeconds"`
	}
	d := json.NewDecoder(body)
	if err := d.Decode(&request); err != nil {
		return "", 0, errors.New("request body: " + unreadable(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", 0, errors.New("request body: data after the object")
	}
	if request.ClientID == nil {
		return "", 0, errors.New("clientId is missing")
	}
	if request.Idle == nil {
		return *request.ClientID, 0, nil
	}
	if seconds := *request.Idle; seconds < 1 || seconds > int64(maxIdle/time.Second) {
		return "", 0, fmt.Errorf("idleTimeoutSeconds must be 1 to 86400: got %d", seconds)
	}
	return *request.ClientID, time.Duration(*request.Idle) * time.Second, nil
}

func (p *Proxy) handleList(w http.ResponseWriter, _ *http.Request) {
	sessions := []sessionView{}
	baseURL := p.BaseURL()
	for _, pairing := range p.List() {
		sessions = append(sessions, view(pairing, cmp.Or(pairing.own, baseURL)))
	}
	writeJSON(w, http.StatusOK, map[string][]sessionView{"sessions": sessions})
}

func (p *Proxy) handleRevoke(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); !p.Revoke(id) {
		http.Error(w, fmt.Sprintf("no session %.40q", id), http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
