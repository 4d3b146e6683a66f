package host

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hostshim/host/credential"
	"hostshim/shim"
)

// Why a session ended.
const (
	EndExit        = "exit"         // the target ended by itself
	EndClosed      = "closed"       // POST /terminate
	EndIdle        = "idle"         // no input and no output for its idle timeout
	EndHostStopped = "host-stopped" // the host was told to stop
)

// States of a session.
const (
	StateStarting = "starting"
	StateRunning  = "running"
	StateEnded    = "ended"
)

// killAfter is how long a session has to end by itself after TERM.
const killAfter = 3 * time.Second

// SessionView is a session as GET /sessions/{id} shows it (H07). It holds no secret.
type SessionView struct {
	SessionID   string   `json:"session_id"`
	Kind        string   `json:"kind"`
	Name        string   `json:"name"`
	Project     string   `json:"project"`
	TemplateID  string   `json:"template_id"`
	Directory   string   `json:"directory"`
	State       string   `json:"state"`
	Sandbox     bool     `json:"sandbox"`
	Credential  string   `json:"credential"` // none, token or pairing
	PairingID   string   `json:"pairing_id,omitempty"`
	RootPID     int      `json:"root_pid"`   // the shim, whatever the kind
	TargetPID   int      `json:"target_pid"` // leader of the target's process group
	CreatedAt   string   `json:"created_at"`
	EndedAt     string   `json:"ended_at,omitempty"`
	ExitStatus  *int     `json:"exit_status,omitempty"` // 128 + signal when one ended the target
	Signal      int      `json:"signal,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	IdleSeconds int64    `json:"idle_timeout_sec,omitempty"`
	Cols        int      `json:"cols,omitempty"`
	Rows        int      `json:"rows,omitempty"`
	OutputBytes int64    `json:"output_bytes"`     // ever written
	Stderr      []string `json:"stderr,omitempty"` // the last lines, of a target on pipes
}

// session is one launch of a long-lived host, from its reservation until it is forgotten.
type session struct {
	id      string
	log     *slog.Logger
	request *Request // nil when it has ended: it may be large, and its environment hold secrets
	number  int64    // in the order of reservations
	streams *streams
	out     output
	stderr  *stderrLog // nil on a terminal
	active  atomic.Int64
	done    chan struct{} // closed when the session has ended and nothing of it is left

	mu       sync.Mutex
	view     SessionView
	running  *running
	closing  string // why it is being ended; "": it is not
	gone     bool   // the shim was waited for: its number may be another's
	idle     *time.Timer
	previous *session // the ended one whose id this one reuses, until this one runs
}

func newSession(r *Request, log *slog.Logger) *session {
	s := &session{id: r.SessionID, log: log.With("session", r.SessionID), request: r, done: make(chan struct{})}
	s.view = SessionView{SessionID: r.SessionID, Kind: r.Kind, Name: r.Name, Project: r.Project, Directory: r.Directory,
		State: StateStarting, Sandbox: r.Sandbox, IdleSeconds: int64(r.Idle / time.Second), CreatedAt: timestamp()}
	if r.Kind == KindPty {
		s.view.Cols, s.view.Rows = r.Cols, r.Rows
	} else {
		s.stderr = &stderrLog{log: s.log}
	}
	return s
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// look is the session as it is now.
func (s *session) look() SessionView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	v.OutputBytes = s.out.size()
	if s.stderr != nil {
		v.Stderr = s.stderr.tail()
	}
	return v
}

// attach gives the session its shim and starts to read from it.
func (s *session) attach(r *running) {
	s.mu.Lock()
	s.running = r
	s.view.TemplateID, s.view.Sandbox, s.view.Credential, s.view.PairingID = r.TemplateID, r.Sandbox, r.credential, r.pairingID
	s.view.RootPID = r.shim.pid
	closing := s.closing
	s.mu.Unlock()
	s.touch()
	s.streams.pump(s.streams.out, active{&s.out, s})
	if s.streams.err != nil {
		s.stderr.secrets = []credential.Secret{r.token, r.Identity, r.ModelKey}
		s.streams.pump(s.streams.err, active{s.stderr, s})
	}
	if closing != "" {
		s.signal()
	}
}

// active notes that a session is not idle.
type active struct {
	to interface{ Write([]byte) (int, error) }
	s  *session
}

func (a active) Write(p []byte) (int, error) {
	if len(p) > 0 {
		a.s.touch()
		defer a.s.touch() // it may have waited for a reader
	}
	return a.to.Write(p)
}

func (s *session) touch() { s.active.Store(int64(time.Since(started))) }

// started is the zero of the clock of idle times, which cannot be set back.
var started = time.Now()

// watchIdle ends the session when there was neither input nor output for its idle timeout (H08).
func (s *session) watchIdle() {
	limit := s.request.Idle
	if limit <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = time.AfterFunc(limit, func() {
		left := limit - (time.Since(started) - time.Duration(s.active.Load()))
		if left <= 0 {
			s.terminate(EndIdle)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.view.State == StateRunning {
			s.idle.Reset(left)
		}
	})
}

// terminate ends the session: TERM to the target's group now, KILL after 3 s (H08). It does not wait.
func (s *session) terminate(reason string) {
	s.mu.Lock()
	first := s.closing == "" && s.view.State != StateEnded
	if first {
		s.closing = reason
	}
	s.mu.Unlock()
	if first {
		s.signal()
	}
}

// signal has the shim pass TERM on, and sees to it that the session ends. Without a shim attach does it.
func (s *session) signal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.gone {
		return
	}
	s.running.shim.signal(syscall.SIGTERM)
	timer := time.AfterFunc(killAfter, s.kill)
	go func() {
		<-s.done
		timer.Stop()
	}()
}

// kill ends the target's process group and the shim. The shim is stopped first, so that it cannot reap the target:
// until then its number, and the group's, is nobody else's.
func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.gone {
		return
	}
	shim, target := s.running.shim, s.view.TargetPID
	shim.signal(syscall.SIGSTOP)
	if p, err := processOf(target); target > 0 && err == nil && p.parent == shim.pid {
		syscall.Kill(-target, syscall.SIGKILL)
	}
	shim.signal(syscall.SIGKILL)
}

// ended waits for the shim and cleans up after the session. The status is the shim's own, the signal the target's.
func (s *session) ended() (status, signal int) {
	r := s.running
	// The end of the status pipe comes first, and waiting for it costs no thread, as waiting for a process does.
	for e := range r.events {
		if e.Event == shim.EventExit {
			signal = e.Signal
		}
	}
	status, killed := r.wait()
	if killed != 0 {
		signal = int(killed)
	}
	s.mu.Lock()
	s.gone = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	r.dismantle() // first: the last output may have to wait for a slow reader, the pairing's end must not
	s.streams.finish()
	if s.stderr != nil {
		s.stderr.end()
	}
	r.cleanUp()
	for _, secret := range []credential.Secret{r.token, r.Identity, r.ModelKey, r.Token} {
		secret.Wipe()
	}
	return status, signal
}

// finish tells of the end: whoever sees a session ended finds nothing of it but its output.
func (s *session) finish(status, signal int) {
	s.mu.Lock()
	s.view.State, s.view.EndedAt = StateEnded, timestamp()
	s.view.ExitStatus, s.view.Signal = &status, signal
	if s.view.Reason = s.closing; s.closing == "" {
		s.view.Reason = EndExit
	}
	s.running, s.request = nil, nil
	s.mu.Unlock()
	s.out.end()
	close(s.done)
}

func (s *session) String() string { return fmt.Sprintf("session %q", s.id) }
