package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"hostshim/host"
	"hostshim/host/wire"
	"hostshim/shim"
)

// routes is everything the socket serves; docs/routes.md and docs/openapi.json say the same in words.
func (s *server) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"POST /launch":               s.handleLaunch,
		"POST /terminate":            s.handleTerminate,
		"GET /sessions":              s.handleSessions,
		"GET /sessions/{id}":         s.onSession(s.handleSession),
		"GET /sessions/{id}/log":     s.onSession(s.handleLog),
		"GET /sessions/{id}/attach":  s.onSession(s.handleAttach),
		"POST /sessions/{id}/input":  s.onSession(s.handleInput),
		"POST /sessions/{id}/resize": s.onSession(s.handleResize),
		"GET /events":                s.handleEvents,
		"GET /status":                s.handleStatus,
		"POST /shutdown":             s.handleShutdown,
	}
}

// handler serves them, and the pairing routes, with errors of one shape.
func (s *server) handler(pairings http.Handler) http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range s.routes() {
		mux.HandleFunc(pattern, handle)
	}
	mux.Handle(pairingRoutes, pairings)
	return jsonErrors(mux)
}

// statusOf maps a code to its HTTP status, in this one place (H04).
func statusOf(code string) int {
	switch code {
	case wire.InvalidSpec, wire.SandboxUnavailable:
		return http.StatusBadRequest
	case wire.SessionUnknown, wire.NotFound:
		return http.StatusNotFound
	case wire.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case wire.SessionExists, wire.SessionEnded, wire.NotPossible, wire.NotHeld, wire.NotListening:
		return http.StatusConflict
	case wire.TooMany:
		return http.StatusTooManyRequests
	case wire.TooLarge:
		return http.StatusRequestEntityTooLarge
	case wire.IdentityRefused:
		return http.StatusBadGateway
	case wire.Stopping:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	e := coded(err)
	if e.Code == wire.TooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not wanted
	}
	answer(w, statusOf(e.Code), e)
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

func (s *server) handleLaunch(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	request := &host.Request{}
	if err == nil {
		request, err = parseLaunch(body)
		clear(body)
	}
	request.TraceID = traceID(r)
	if err != nil {
		s.refuse(request, err)
		fail(w, err)
		return
	}
	session, err := s.accept(request)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusCreated, launched(session.view(), request))
}

// launched is the answer to a launch: the session, in this host's words and in relay's.
func launched(v wire.Session, r *host.Request) wire.Launched {
	l := wire.Launched{SessionID: v.SessionID, Body: wire.LaunchedBody{Session: v}}
	if v.Kind == wire.KindPty {
		l.RootPID = v.RootPID
		l.Body.RelayTerminal = &wire.RelayTerminal{TerminalID: v.SessionID, TemplateID: v.TemplateID}
	} else {
		l.Body.RelaySession = &wire.RelaySession{SessionID: v.SessionID, ProjectID: r.ProjectID, Model: r.Model}
	}
	return l
}

// handleTerminate answers 204 whatever it is asked (H08): the caller wants a session gone, and it is.
func (s *server) handleTerminate(w http.ResponseWriter, r *http.Request) {
	var id, reason string
	err := takeMembers(w, r, func(o object) error {
		return errors.Join(o.take("session_id", &id), o.take("reason", &reason))
	})
	if err != nil && coded(err).Code != wire.InvalidSpec {
		fail(w, err)
		return
	}
	if err != nil {
		s.Log.Warn("terminate names no session", "error", err.Error(), "trace_id", traceID(r))
	} else if session := s.sessions.find(id); session != nil {
		session.log.Info("terminate", "reason", reason[:min(len(reason), 200)], "trace_id", traceID(r))
		session.terminate(wire.EndClosed)
	}
	w.WriteHeader(http.StatusNoContent)
}

// handleShutdown has the host stop as TERM does, and answers at once: the end of the host takes as long as its sessions'.
func (s *server) handleShutdown(w http.ResponseWriter, r *http.Request) {
	if _, err := readBody(w, r); err != nil {
		fail(w, err)
		return
	}
	select {
	case s.asked <- struct{}{}:
	default: // it was asked before
	}
	w.WriteHeader(http.StatusAccepted)
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

func (s *server) handleSessions(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, wire.Sessions{Sessions: s.sessions.all()})
}

func (s *server) handleStatus(w http.ResponseWriter, _ *http.Request) {
	live, ended := s.sessions.count()
	problem := ""
	if err := s.broker.Failed(); err != nil {
		problem = err.Error()
	}
	answer(w, http.StatusOK, wire.Host{ProxyProblem: problem, Version: shim.Version, PID: os.Getpid(), Since: s.begun.UTC().Format(time.RFC3339),
		Socket: s.Places.Socket(), Sessions: live, Ended: ended, BaseURL: s.broker.BaseURL()})
}
