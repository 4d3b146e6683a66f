package host

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"
)

// routes is everything the socket serves; docs/routes.md says the same in words.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /launch", s.handleLaunch)
	mux.HandleFunc("POST /terminate", s.handleTerminate)
	mux.HandleFunc("GET /sessions", s.handleSessions)
	mux.HandleFunc("GET /sessions/{id}", s.onSession(s.handleSession))
	mux.HandleFunc("GET /sessions/{id}/log", s.onSession(s.handleLog))
	mux.HandleFunc("GET /sessions/{id}/attach", s.onSession(s.handleAttach))
	mux.HandleFunc("POST /sessions/{id}/input", s.onSession(s.handleInput))
	mux.HandleFunc("POST /sessions/{id}/resize", s.onSession(s.handleResize))
	mux.HandleFunc("GET /status", s.handleStatus)
	mux.Handle("/v1/llm-proxy/", s.host.Models.Proxy.Handler())
	return s.guard(mux)
}

// Codes of answers that are no launch's.
const (
	codeTooLarge  = "too_large"
	codeNoSession = "session_unknown"
	codeEnded     = "session_ended"
	codeNotNow    = "not_possible" // what was asked for cannot be done with this session
)

// statusOf maps a code to its HTTP status, in this one place (H04).
func statusOf(code string) int {
	switch code {
	case InvalidSpec, SandboxUnavailable:
		return http.StatusBadRequest
	case codeNoSession:
		return http.StatusNotFound
	case SessionExists, codeEnded, codeNotNow:
		return http.StatusConflict
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case IdentityRefused:
		return http.StatusBadGateway
	case Stopping:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// wireError is every error's body.
type wireError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// asRefusal gives an error the code that its answer and its audit row carry.
func asRefusal(err error) *Refusal {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, errBodyTooLarge):
		return &Refusal{codeTooLarge, err.Error()}
	}
	return &Refusal{InvalidSpec, err.Error()}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	refusal := asRefusal(err)
	if refusal.Code == codeTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not wanted
	}
	answer(w, statusOf(refusal.Code), wireError{refusal.Code, refusal.Message})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// launched is the answer to a launch.
type launched struct {
	SessionID string      `json:"session_id"`
	RootPID   int         `json:"root_pid"` // the shim's for a pty, else 0 (H04)
	Body      SessionView `json:"body"`
}

func (s *Server) handleLaunch(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	request := &Request{}
	if err == nil {
		request, err = parseLaunch(body)
		clear(body)
	}
	if err != nil {
		s.refuse(request, err)
		fail(w, err)
		return
	}
	session, err := s.launch(request)
	if err != nil {
		fail(w, err)
		return
	}
	view := session.look()
	root := 0
	if view.Kind == KindPty {
		root = view.RootPID
	}
	answer(w, http.StatusCreated, launched{view.SessionID, root, view})
}

func (s *Server) handleTerminate(w http.ResponseWriter, r *http.Request) {
	var id, reason string
	if err := takeMembers(w, r, func(o object) error {
		return errors.Join(o.take("session_id", &id), o.take("reason", &reason))
	}); err != nil {
		fail(w, err)
		return
	}
	if id == "" {
		fail(w, &Refusal{InvalidSpec, "session_id is missing"})
		return
	}
	if session := s.sessions.find(id); session != nil {
		session.log.Info("terminate", "reason", reason[:min(len(reason), 200)])
		session.terminate(EndClosed)
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeMembers reads a small JSON body.
func takeMembers(w http.ResponseWriter, r *http.Request, take func(object) error) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	o, err := parseObject(body, "the request")
	if err != nil {
		return err
	}
	return take(o)
}

func (s *Server) handleSessions(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string][]SessionView{"sessions": s.sessions.all()})
}

// HostStatus is a running host, as GET /status shows it.
type HostStatus struct {
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	Since    string `json:"since"`
	Socket   string `json:"socket"`
	Sessions int    `json:"sessions"` // live
	Ended    int    `json:"ended"`    // still listed
	BaseURL  string `json:"model_proxy"`
}

func (s *Server) handleStatus(w http.ResponseWriter, _ *http.Request) {
	live, ended := s.sessions.count()
	answer(w, http.StatusOK, HostStatus{Version: Version, PID: os.Getpid(), Since: s.begun.UTC().Format(time.RFC3339),
		Socket: s.host.Places.Socket(), Sessions: live, Ended: ended, BaseURL: s.host.Models.Proxy.BaseURL()})
}
