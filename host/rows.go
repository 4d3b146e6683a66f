package host

import (
	"cmp"
	"errors"

	"hostshim/host/state"
	"hostshim/host/wire"
)

// record is what the launch's record and audit rows say. A refused request can be of any size, so its texts are cut.
func (p *Plan) record() state.Session {
	cut := func(s string, n int) string { return s[:min(len(s), n)] }
	r := p.request
	s := state.Session{SessionID: cut(r.SessionID, 128), Kind: cut(r.Kind, 64), TemplateID: cut(p.TemplateID, 64),
		Directory: cut(r.Directory, 4096), Sandbox: p.Sandboxed, Credential: p.Credential}
	if len(p.argv) > 0 {
		name := cut(p.argv[0], 4096)
		s.Program = cmp.Or(FindProgram(name, lookup(p.env, "PATH"), r.Directory), name)
	}
	return s
}

func (p *Plan) row(event string) state.Row { return p.record().Row(event) }

// Refused writes the audit row of a launch that came to nothing before it was planned.
func (h *Host) Refused(r *Request, err error) {
	h.auditRefused(&Plan{request: r, TemplateID: r.TemplateID, Sandboxed: r.Sandbox, Credential: wire.CredentialNone}, "", err)
}

func (h *Host) auditRefused(p *Plan, pairingID string, err error) {
	row := p.row(state.EventLaunch)
	row.PairingID, row.Outcome, row.Error = pairingID, state.OutcomeDeny, err.Error()
	var coded *wire.Error
	if errors.As(err, &coded) && coded.Code == wire.SpawnFailed {
		row.Outcome = state.OutcomeError
	}
	h.audit(row)
}

func (h *Host) audit(row state.Row) {
	if err := h.config.Places.Append(row); err != nil {
		h.config.Warn(err.Error())
	}
}
