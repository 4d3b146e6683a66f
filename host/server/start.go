package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hostshim/host"
	"hostshim/host/wire"
)

// accept starts a session, or says why not. Either way there is an audit row; a refused launch leaves nothing else.
func (s *server) accept(r *host.Request) (*session, error) {
	ses, err := s.sessions.reserve(r)
	if err != nil {
		s.refuse(r, err)
		return nil, err
	}
	if err := s.open(ses); err != nil {
		s.sessions.drop(ses)
		ses.out.end() // for whoever follows its log by now
		s.logRefused(r, err)
		return nil, err
	}
	return ses, nil
}

// refuse audits a launch that came to nothing before anything was made for it.
func (s *server) refuse(r *host.Request, err error) {
	err = coded(err)
	s.host.Refused(r, err)
	s.logRefused(r, err)
}

func (s *server) logRefused(r *host.Request, err error) {
	s.Log.Warn("launch refused", "session", fmt.Sprintf("%.128s", r.SessionID), "trace_id", r.TraceID, "error", err.Error())
	r.Wipe()
}

// open makes the streams, starts the shim, and waits until it says that the target runs.
func (s *server) open(ses *session) error {
	r := ses.request
	if !s.launches.Take(launchCost) {
		s.host.Refused(r, errBusy)
		return errBusy
	}
	holds := launchCost
	defer func() { s.launches.Give(holds) }()
	streams, err := openStreams(r.Kind, r.Cols, r.Rows)
	if err != nil {
		err = &wire.Error{Code: wire.SpawnFailed, Message: err.Error()}
		s.host.Refused(r, err)
		return err
	}
	ses.streams = streams
	running, err := s.host.Open(r, streams.child)
	streams.closeChild()
	if err != nil {
		streams.close()
		return err
	}
	ses.attach(running)
	pid, err := running.AwaitStart(startWithin)
	if err != nil {
		return s.abandon(ses, err)
	}
	ses.started(pid)
	s.sessions.started(ses)
	plan := running.Plan
	ses.log.Info("session started", "kind", r.Kind, "template", plan.TemplateID, "credential", plan.Credential, "sandbox", plan.Sandboxed, "shim", running.ShimPID, "target", pid, "trace_id", r.TraceID)
	holds -= sessionCost
	go s.watch(ses)
	return nil
}

// abandon ends what there is of a session whose target did not start, and says why.
func (s *server) abandon(ses *session, cause error) error {
	running := ses.running
	ses.signal()
	end := ses.wait()
	err := running.NotStarted(cause, end, ses.shimError(filepath.Base(s.Places.Shim)))
	running.Close()
	close(ses.done)
	return err
}

// shimError is what the shim, called so, said before it gave up: its own error, never a target's line.
func (s *session) shimError(shim string) string {
	var lines []string
	if s.stderr != nil {
		lines = s.stderr.tail()
	} else {
		said, _ := s.out.snapshot(0)
		lines = strings.Split(string(said), "\r\n")
	}
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, shim+": error: "); ok {
			return fmt.Sprintf("%.1024s", text)
		}
	}
	return ""
}

// watch sees a session to its end.
func (s *server) watch(ses *session) {
	running := ses.running
	end := ses.wait()
	running.AuditEnd() // while the record is there: a host that is killed before leaves the row to the next one
	running.Close()
	ses.finish(end)
	ses.log.Info("session ended", "exit_status", end.Status, "signal", int(end.Signal), "reason", ses.view().Reason)
	s.sessions.ended(ses)
	if removed := running.Removed(); removed != nil {
		<-removed // it holds descriptors as long as it takes
	}
	s.launches.Give(sessionCost)
}

// coded gives an error the code that its answer and its audit row carry.
func coded(err error) *wire.Error {
	var e *wire.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, errBodyTooLarge):
		return &wire.Error{Code: wire.TooLarge, Message: err.Error()}
	}
	return &wire.Error{Code: wire.InvalidSpec, Message: err.Error()}
}
