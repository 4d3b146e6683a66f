package server

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hostshim/host"
	"hostshim/host/wire"
)

// startWithin is how long a target may take to start (H04).
const startWithin = 10 * time.Second

// How long a session has to end by itself after TERM. An interactive shell ignores TERM, and obeys the HUP that a closed
// terminal sends; it comes late, since it cuts short what a program does to end well.
const (
	hangUpAfter = 2 * time.Second // terminals only
	killAfter   = 3 * time.Second
)

// session is one launch of a long-lived host, from its reservation until it is forgotten.
type session struct {
	id      string
	log     *slog.Logger
	request *host.Request // nil when it has ended: it may be large, and its environment hold secrets
	number  int64         // in the order of reservations
	streams *streams
	out     output
	stderr  *stderrLog // nil on a terminal
	active  atomic.Int64
	events  *events
	viewers atomic.Int64  // attached clients: while there is one, the session is not idle
	done    chan struct{} // closed when the session has ended and nothing of it is left

	mu       sync.Mutex
	shown    wire.Session
	running  *host.Running
	closing  string // why it is being ended; "": it is not
	gone     bool   // the shim was waited for: its number may be another's
	idle     *time.Timer
	previous *session // the ended one whose id this one reuses, until this one runs
}

func newSession(r *host.Request, log *slog.Logger, events *events) *session {
	log = log.With("session", r.SessionID)
	s := &session{id: r.SessionID, log: log, request: r, events: events, done: make(chan struct{})}
	s.shown = wire.Session{SessionID: r.SessionID, Kind: r.Kind, Name: r.Name, Project: r.Project, Directory: r.Directory,
		State: wire.StateStarting, Sandbox: r.Sandbox, CreatedAt: timestamp(), Conversation: r.Conversation}
	if r.Kind == wire.KindPty {
		s.shown.Cols, s.shown.Rows = r.Cols, r.Rows
	} else {
		s.stderr = &stderrLog{log: s.log}
	}
	return s
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// view is the session as it is now.
func (s *session) view() wire.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count()
	v := s.shown
	v.OutputBytes = s.out.size()
	if s.stderr != nil {
		v.Stderr = s.stderr.tail()
	}
	return v
}

// count notes how many requests the session has made. The caller holds the lock.
func (s *session) count() {
	if s.running == nil {
		return
	}
	if pairing, ok := s.running.Pairing(); ok {
		s.shown.Requests = &pairing.Requests
	}
}

// attach gives the session its shim and starts to read from it.
func (s *session) attach(r *host.Running) {
	s.mu.Lock()
	s.running = r
	s.shown.TemplateID, s.shown.Sandbox, s.shown.Credential, s.shown.PairingID = r.Plan.TemplateID, r.Plan.Sandboxed, r.Plan.Credential, r.PairingID
	s.shown.RootPID, s.shown.IdleSeconds = r.ShimPID, int64(r.Plan.Idle/time.Second)
	closing := s.closing
	s.mu.Unlock()
	s.touch()
	s.streams.pump(s.streams.out, active{&s.out, s, askingOf(s.shown.Kind)})
	if s.streams.err != nil {
		s.stderr.secrets = r.Secrets()
		s.streams.pump(s.streams.err, active{s.stderr, s, nil})
	}
	if closing != "" {
		s.signal()
	}
}

// started notes that the target runs.
func (s *session) started(pid int) {
	s.mu.Lock()
	s.shown.State, s.shown.TargetPID = wire.StateRunning, pid
	s.tell(wire.EventLaunch)
	if s.shown.Attention != "" { // it was quicker than its launch
		s.tell(wire.EventAttention)
	}
	s.mu.Unlock()
	s.watchIdle()
}

// active notes that a session is not idle.
type active struct {
	to   interface{ Write([]byte) (int, error) }
	s    *session
	asks func([]byte) string // why what is written wants a person; nil: it never does
}

func (a active) Write(p []byte) (int, error) {
	if len(p) > 0 {
		a.s.touch()
		defer a.s.touch() // it may have waited for a reader
	}
	if a.asks != nil {
		if cause := a.asks(p); cause != "" {
			a.s.raise(cause)
		}
	}
	return a.to.Write(p)
}

func (s *session) touch() { s.active.Store(int64(time.Since(clockZero))) }

// attached counts a client until detach is called.
func (s *session) attached() (detach func()) {
	s.viewers.Add(1)
	return func() {
		s.touch()
		s.viewers.Add(-1)
	}
}

// clockZero is the zero of the monotonic clock that idle times are measured by.
var clockZero = time.Now()

// watchIdle ends the session when there was neither input nor output, nor anyone attached, for its idle timeout (H08).
func (s *session) watchIdle() {
	limit := s.running.Plan.Idle
	if limit <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = time.AfterFunc(limit, func() {
		left := limit - (time.Since(clockZero) - time.Duration(s.active.Load()))
		if s.viewers.Load() > 0 {
			left = limit
		}
		if left <= 0 {
			s.terminate(wire.EndIdle)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.shown.State == wire.StateRunning {
			s.idle.Reset(left)
		}
	})
}

// terminate ends the session: TERM to the target's group now, on a terminal HUP after 2 s, KILL after 3 s (H08, U02). It does not wait.
func (s *session) terminate(reason string) {
	s.mu.Lock()
	first := s.closing == "" && s.shown.State != wire.StateEnded
	if first {
		s.closing = reason
	}
	s.mu.Unlock()
	if first {
		s.signal()
	}
}

// signal asks the target to end, through its shim, and kills what is left after killAfter. Where there is no shim yet,
// attach calls it.
func (s *session) signal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.gone {
		return
	}
	s.running.Signal(syscall.SIGTERM)
	timers := []*time.Timer{time.AfterFunc(killAfter, s.kill)}
	if s.streams.child.Terminal {
		timers = append(timers, time.AfterFunc(hangUpAfter, s.hangUp))
	}
	go func() {
		<-s.done
		for _, t := range timers {
			t.Stop()
		}
	}()
}

func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil && !s.gone {
		s.running.Signal(syscall.SIGHUP)
	}
}

func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil && !s.gone {
		s.running.Kill()
	}
}

// wait waits for the shim and cleans up after the session, but for its record.
func (s *session) wait() host.End {
	r := s.running
	end := r.Wait()
	s.mu.Lock()
	s.gone = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	r.ReleaseButRecord() // before the last output: that may wait for a slow reader, and the pairing must not live on
	s.streams.finish()
	if s.stderr != nil {
		s.stderr.end()
	}
	r.Wipe()
	return end
}

// finish tells of the end: whoever sees a session ended finds nothing of it but its output.
func (s *session) finish(end host.End) {
	s.mu.Lock()
	s.shown.State, s.shown.EndedAt = wire.StateEnded, timestamp()
	s.shown.ExitStatus, s.shown.Signal = &end.Status, int(end.Signal)
	if s.shown.Reason = s.closing; s.closing == "" {
		s.shown.Reason = wire.EndExit
	}
	s.count()
	s.running, s.request, s.shown.Attention = nil, nil, ""
	s.tell(wire.EventEnd)
	s.mu.Unlock()
	s.out.end()
	close(s.done)
}

func (s *session) String() string { return fmt.Sprintf("session %q", s.id) }
