package llmproxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"hostshim/host/credential"
)

const (
	sessionsPath = "/v1/llm-proxy/sessions"
	maxCreate    = 64 << 10 // a creation's body
)

var errNotListening = errors.New("the model proxy is not listening")

// Create makes a session pairing for clientID. An idle of 0 takes the policy's.
func (p *Proxy) Create(clientID string, idle time.Duration) (Pairing, credential.Secret, error) {
	return p.create(Pairing{ClientID: clientID, Idle: idle})
}

// CreateForLaunch makes the pairing of a launch, which the caller revokes when the launch ends: it may go unused for
// a day, as a person may leave an agent waiting overnight, and does not count to the bound, which is for pairings that
// somebody forgets. With own, the base URL on it, it is taken on the
// listener of ServeSession alone (B04).
func (p *Proxy) CreateForLaunch(clientID, own string) (Pairing, credential.Secret, error) {
	return p.create(Pairing{ClientID: clientID, Idle: maxIdle, launch: true, own: own})
}

func (p *Proxy) create(session Pairing) (Pairing, credential.Secret, error) {
	made, pairing, err := p.admit(session)
	p.reportEnded()
	if err == nil {
		session = made
	}
	p.report(Event{Name: EventCreate, Pairing: session, Err: err})
	return session, pairing, err
}

func (p *Proxy) admit(session Pairing) (Pairing, credential.Secret, error) {
	policy, err := p.policy()
	if err == nil {
		session.Idle, err = policy.admit(session.ClientID, session.Idle)
	}
	if err != nil {
		return Pairing{}, credential.Secret{}, err
	}
	return p.registry.create(session)
}

// Revoke ends a session and says whether there was one. A running response completes (P11).
func (p *Proxy) Revoke(id string) bool {
	p.expire()
	ok := p.registry.revoke(id)
	p.reportEnded()
	return ok
}

// List returns the live sessions, oldest first.
func (p *Proxy) List() []Pairing {
	p.expire()
	return p.registry.list()
}

func (p *Proxy) policy() (Policy, error) {
	if p.config.Policy == nil {
		return Policy{}, nil
	}
	return p.config.Policy()
}

// expire leaves sessions alone while nobody can say what the policy is: a slip in the settings makes no pairing, and
// ends none (T05).
func (p *Proxy) expire() {
	allowed := func(string) bool { return true }
	if policy, err := p.policy(); err == nil {
		allowed = policy.allows
	}
	p.registry.expire(allowed)
	p.reportEnded()
}

func (p *Proxy) present(values []string) (Pairing, string, bool) {
	session, pairing, ok := p.registry.present(values)
	p.reportEnded()
	return session, pairing, ok
}

// reportEnded tells of the sessions that ended, outside the registry's lock.
func (p *Proxy) reportEnded() {
	for _, e := range p.registry.takeEnded() {
		p.report(Event{Name: EventRevoke, Pairing: e.session, Reason: e.reason})
	}
}

func (p *Proxy) report(e Event) {
	if p.config.Audit != nil {
		p.config.Audit(e)
	}
}

// Handler serves the session API (P01), for the host's own socket: who may call it is the socket's business.
func (p *Proxy) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+sessionsPath, p.handleCreate)
	mux.HandleFunc("GET "+sessionsPath, p.handleList)
	mux.HandleFunc("DELETE "+sessionsPath+"/{id}", p.handleRevoke)
	return mux
}

// sessionView is a session as the API shows it.
type sessionView struct {
	ID        string `json:"id"`
	Pairing   string `json:"pairing,omitempty"` // in the answer to its creation only
	ClientID  string `json:"clientId"`
	BaseURL   string `json:"baseUrl"`
	Idle      int64  `json:"idleTimeoutSeconds"`
	CreatedAt string `json:"createdAt"`
}

func view(s Pairing, baseURL string) sessionView {
	return sessionView{
		ID: s.ID, ClientID: s.ClientID, BaseURL: baseURL,
		Idle: int64(s.Idle / time.Second), CreatedAt: s.Created.UTC().Format(time.RFC3339),
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
	session, pairing, err := p.Create(clientID, idle)
	if err != nil {
		http.Error(w, err.Error(), createStatus(err))
		return
	}
	v := view(session, baseURL)
	v.Pairing = string(pairing.Reveal())
	pairing.Wipe()
	writeJSON(w, http.StatusCreated, v)
}

func createStatus(err error) int {
	if errors.Is(err, ErrBound) {
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

// unreadable says what is wrong with a body without the words of Go's types.
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

// readCreate reads {"clientId", "idleTimeoutSeconds"?}. Members that it does not know are ignored.
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
	for _, s := range p.List() {
		sessions = append(sessions, view(s, cmp.Or(s.own, baseURL)))
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
