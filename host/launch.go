package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
)

// Stdio are the standard streams of a session, and how it stands to the host's terminal.
type Stdio struct {
	In, Out, Err *os.File
	Terminal     bool            // the three are a terminal that the shim makes its own
	Apart        bool            // a session of its own, away from the host's terminal and its signals
	Ready        <-chan struct{} // closed when the shim may start; nil: it may
}

// Open plans and launches. A refused launch leaves an audit row and nothing else; its error is a *wire.Error.
func (h *Host) Open(r *Request, io Stdio) (*Running, error) {
	p, err := h.plan(r, io)
	if io.Ready != nil {
		<-io.Ready
	}
	running := &Running{}
	if err == nil {
		if running, err = h.launch(p, io); err == nil {
			return running, nil
		}
	}
	defer running.Close() // after the audit row
	var coded *wire.Error
	if !errors.As(err, &coded) {
		err = &wire.Error{Code: wire.SpawnFailed, Message: err.Error()}
	}
	p.Credential = wire.CredentialNone // it got none
	h.auditRefused(p, "", err)
	return nil, err
}

// launch makes what the plan needs, in an order in which every failure can be undone, and starts the shim. After a failure
// only the record is left.
func (h *Host) launch(p *Plan, io Stdio) (r *Running, err error) {
	r = &Running{Plan: p, host: h, begun: time.Now(), token: p.token, env: p.env, events: make(chan shimEvent, 8)}
	defer func() {
		if err != nil {
			r.ReleaseButRecord()
			r.token.Wipe()
		}
	}()
	record := p.record()
	record.Temp, record.Served = p.temp, h.config.Served
	if p.profile != nil {
		record.Profile = h.profilePath(p)
	}
	if r.record, err = h.config.Places.Claim(record); err != nil {
		return r, err
	}
	if p.temp != "" {
		if err := r.makeTemp(); err != nil {
			return r, unavailable(err)
		}
	}
	if p.profile != nil {
		if err := r.makeSandbox(record.Profile); err != nil {
			return r, unavailable(err)
		}
	}
	if p.paired() {
		if err := r.mintPairing(); err != nil {
			return r, unavailable(fmt.Errorf("pairing: %w", err))
		}
	}
	if err := r.spawn(io); err != nil {
		return r, &wire.Error{Code: wire.SpawnFailed, Message: err.Error()}
	}
	r.env = nil
	if h.config.Served {
		p.profile = nil // most of what a session would hold; a foreground host says at the end what it closed
	}
	return r, nil
}

// makeTemp makes the session's temporary folder, with its system prompt.
func (r *Running) makeTemp() error {
	h, p := r.host, r.Plan
	if err := os.Mkdir(p.temp, 0o700); err != nil {
		return fmt.Errorf("temporary folder: %w: set TMPDIR to one that can be written", err)
	}
	r.undo = append(r.undo, func() {
		r.removed = state.DiscardWithin(p.temp, func(err error) {
			h.config.Warn(fmt.Sprintf("session %s: %v", p.request.SessionID, err))
		})
	})
	return errors.Join(p.writePrompt(), p.writePreload())
}

// makeSandbox makes what else the session's sandbox needs on disk.
func (r *Running) makeSandbox(profile string) error {
	h, p := r.host, r.Plan
	if err := h.config.Places.RememberGranted(slices.Concat(p.profile.Writable, p.profile.Changed)); err != nil {
		return err
	}
	if err := p.profile.Prepare(); err != nil {
		return err
	}
	// A user's template may name a folder of the host's too, to have another network for example.
	for _, agent := range settings.Agents() {
		config := lookup(p.env, agent.ConfigVar)
		if agent.FirstFile == "" || h.config.Places.Data == "" || filepath.Dir(config) != h.config.Places.Data {
			continue
		}
		if err := writeFirstFile(agent, config); err != nil {
			h.config.Warn(err.Error())
		}
	}
	if _, err := h.config.Places.Dir("profiles"); err != nil {
		return err
	}
	f, err := os.OpenFile(profile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		// This launch has the record, so the file is what a killed host left.
		os.Remove(profile)
		f, err = os.OpenFile(profile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	r.undo = append(r.undo, func() { os.Remove(profile) })
	_, err = f.Write(p.profile.Text)
	return errors.Join(err, f.Close())
}
