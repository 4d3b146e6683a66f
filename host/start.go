package host

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// launch starts a session, or says why not. Either way there is an audit row; a refused launch leaves nothing else.
func (s *Server) launch(r *Request) (*session, error) {
	ses, err := s.sessions.reserve(r)
	if err == nil {
		if err = s.begin(ses); err == nil {
			return ses, nil
		}
		s.sessions.drop(ses)
		s.tell(r, err)
	} else {
		s.refuse(r, err)
	}
	return nil, err
}

// refuse notes a launch that came to nothing before anything was made for it.
func (s *Server) refuse(r *Request, err error) {
	err = asRefusal(err)
	s.host.auditLaunch(&plan{Request: r, credential: CredentialNone}, err)
	s.tell(r, err)
}

func (s *Server) tell(r *Request, err error) {
	s.log.Warn("launch refused", "session", fmt.Sprintf("%.128s", r.SessionID), "error", err.Error())
	r.wipe()
}

// begin makes the streams, starts the shim, and waits until it says that the target runs.
func (s *Server) begin(ses *session) error {
	r := ses.request
	streams, err := openStreams(r.Kind, r.Cols, r.Rows)
	if err != nil {
		err = &Refusal{SpawnFailed, err.Error()}
		s.host.auditLaunch(&plan{Request: r, credential: CredentialNone}, err)
		return err
	}
	ses.streams = streams
	running, err := s.host.start(r, streams.child, nil)
	streams.closeChild()
	if err != nil {
		streams.close()
		return err
	}
	ses.attach(running)
	pid, err := running.awaitStart(startWithin)
	if err != nil {
		return s.notStarted(ses, err)
	}
	ses.mu.Lock()
	ses.view.State, ses.view.TargetPID = StateRunning, pid
	ses.mu.Unlock()
	ses.watchIdle()
	s.host.auditLaunch(running.plan, nil)
	s.sessions.started(ses)
	ses.log.Info("session started", "kind", r.Kind, "template", r.TemplateID, "credential", running.credential, "sandbox", r.Sandbox, "shim", running.shim.pid, "target", pid)
	go s.watch(ses)
	return nil
}

// notStarted ends what there is of a session whose target did not start, and puts the reason into words: the
// shim's own ones, where it left any.
func (s *Server) notStarted(ses *session, err error) error {
	r := ses.running
	ses.signal()
	status, _ := ses.ended()
	s.launcher.forget(r.shim.pid)
	ses.out.end()
	close(ses.done)
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		refusal = &Refusal{SpawnFailed, err.Error()}
	}
	said := ses.lastWords()
	if said != "" && refusal.Code == SpawnFailed {
		refusal = &Refusal{SpawnFailed, said}
	}
	if errors.As(r.sandboxFailure(refusal, status), &refusal) && refusal.Code == SandboxUnavailable {
		refusal = &Refusal{SandboxUnavailable, cmp.Or(said, refusal.Message)}
	}
	s.host.auditLaunch(r.plan, refusal)
	return refusal
}

// lastWords is what the shim said before it gave up: only its own errors, never a target's line.
func (s *session) lastWords() string {
	var lines []string
	if s.stderr != nil {
		lines = s.stderr.tail()
	} else {
		lines = strings.Split(string(s.out.snapshot()), "\r\n")
	}
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "shim: error: "); ok {
			return fmt.Sprintf("%.1024s", text)
		}
	}
	return ""
}

// watch sees a session to its end.
func (s *Server) watch(ses *session) {
	status, signal := ses.ended()
	running := ses.running
	s.launcher.forget(running.shim.pid)
	row := running.row("session_end")
	row.Outcome, row.Credential, row.PairingID = "ok", running.credential, running.pairingID
	if err := s.host.audit(row); err != nil {
		s.host.Warn(err.Error())
	}
	ses.finish(status, signal)
	ses.log.Info("session ended", "exit_status", status, "signal", signal, "reason", ses.look().Reason)
	s.sessions.ended(ses)
}

// wipe forgets the secrets that a request brought.
func (r *Request) wipe() {
	r.Identity.Wipe()
	r.ModelKey.Wipe()
	r.Token.Wipe()
}
