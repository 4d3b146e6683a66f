package host

import (
	"cmp"
	"errors"

	"hostshim/host/credential"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Plan is a launch that may happen: everything is decided, nothing is minted or written yet (T04).
type Plan struct {
	TemplateID string
	Sandboxed  bool
	Credential string // wire.CredentialNone, CredentialToken or CredentialPairing

	request   *Request
	argv      []string
	env       []string
	token     credential.Secret // what descriptor 5 will carry, if it is known by now
	network   string            // shim.NetworkOpen or shim.NetworkModel
	profile   *sandbox.Profile  // nil: unsandboxed, or the caller brought a profile
	terminals []string          // those on descriptors 0 to 2, where a profile names them (macOS)
	temp      string            // folder of the session's own, removed at its end
	config    string            // configuration folder that the host keeps for the template's agent; "": none
	agent     *settings.Agent   // nil: the template names none
}

// plan decides a launch. It reads the settings and the token file anew (T05) and changes nothing. With an error the plan
// holds what was decided by then, for the audit row.
func (h *Host) plan(r *Request, io Stdio) (*Plan, error) {
	p := &Plan{request: r, TemplateID: r.TemplateID, Sandboxed: r.Sandbox, Credential: wire.CredentialNone, network: shim.NetworkOpen, terminals: io.terminals()}
	set, warnings, err := settings.Load(h.config.Places.Settings, h.config.Places.Named)
	if err != nil {
		return p, unavailable(err)
	}
	h.warnAll(warnings)
	if err := r.check(); err != nil {
		return p, err
	}
	template, err := set.Template(r.templateID())
	if err != nil {
		return p, invalid("%v", err)
	}
	p.TemplateID, p.agent = template.ID, template.Agent
	if r.Kind == wire.KindRun && !template.Sandboxed() {
		p.Sandboxed = false // a person's own settings say so; a request says it itself
	}
	if p.argv, err = r.command(template); err != nil {
		return p, err
	}
	if err := p.decideCredential(template, set.ClaudeTokenFile != ""); err != nil {
		return p, err
	}
	private, err := set.TokenFiles()
	if err == nil {
		err = h.readToken(p, set)
	}
	if err != nil {
		return p, unavailable(err)
	}
	for _, step := range []func(*Plan, settings.Template) error{h.planSandbox, h.planEnv} {
		if err := step(p, template); err != nil {
			return p, err
		}
	}
	return p, h.planProfile(p, template, private)
}

func (r *Request) templateID() string {
	switch {
	case r.TemplateID != "":
		return r.TemplateID
	case r.Kind == wire.KindRun || r.Kind == wire.KindClaude:
		return "claude-code"
	}
	return "shell"
}

// command is the target and its arguments.
func (r *Request) command(t settings.Template) ([]string, error) {
	argv := r.Argv
	switch {
	case len(argv) > 0:
	case r.Kind == wire.KindPi || r.Kind == wire.KindCodex:
		return nil, invalid("kind %q needs argv", r.Kind)
	case t.Command == "":
		return nil, invalid("template %q has no command, and the request no argv", t.ID)
	default:
		argv = append([]string{t.Command}, t.Args...)
		if r.Kind == wire.KindClaude {
			argv = append(argv, "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
		}
	}
	return append(append([]string(nil), argv...), r.ExtraArgs...), nil
}

// decideCredential says what the launch hands its target, and with which network.
func (p *Plan) decideCredential(t settings.Template, configured bool) (err error) {
	if p.Credential, err = chooseCredential(p.request, p.Sandboxed, t, configured); err != nil {
		p.Credential = wire.CredentialNone
		return err
	}
	if !p.Sandboxed || t.Network != shim.NetworkModel {
		return nil
	}
	p.network = shim.NetworkModel
	if p.Credential != wire.CredentialToken {
		return nil
	}
	// The proxy takes nothing but a pairing.
	if p.request.Credential == wire.CredentialToken || t.Credential == wire.CredentialToken || !p.request.Token.Empty() {
		p.Credential = wire.CredentialNone
		return invalid(`template %q has "network": "model", where a token is of no use: ask for a pairing`, t.ID)
	}
	p.Credential = wire.CredentialPairing
	return nil
}

// chooseCredential says what a launch hands its target (T09): the first row that applies. A launch that may not have what
// was asked for by name is refused; one that nobody asked it for goes without. The complexity: one condition a row.
func chooseCredential(r *Request, sandboxed bool, t settings.Template, configured bool) (string, error) {
	asked, brought := r.Credential, !r.Token.Empty()
	able := sandboxed && !r.Remote && (r.Kind == wire.KindRun || r.Kind == wire.KindPty || r.Kind == wire.KindClaude)
	entitled := able && (r.Kind == wire.KindClaude || t.ID == "claude-code" || t.Credential == wire.CredentialToken)
	token := asked == wire.CredentialToken || brought
	for _, row := range []struct {
		when   bool
		give   string
		refuse string
	}{
		{token && !able, "", needsClaude},
		{token && !entitled, "", `template "` + t.ID + `" gets no token: give it "credential": "token"`},
		{asked == wire.CredentialPairing && !able, "", "a pairing requires a sandboxed local claude launch"},
		{asked == wire.CredentialToken && !configured && !brought, "", settings.ErrNoTokenFile.Error()},
		{token, wire.CredentialToken, ""},
		{asked == wire.CredentialPairing, wire.CredentialPairing, ""},
		{asked == wire.CredentialNone, wire.CredentialNone, ""},
		// Nobody asked: the template's word counts, then what the launch is entitled to.
		{t.Credential == wire.CredentialPairing && able, wire.CredentialPairing, ""},
		{t.Credential == wire.CredentialPairing || t.Credential == wire.CredentialNone, wire.CredentialNone, ""},
		{entitled && configured, wire.CredentialToken, ""},
	} {
		switch {
		case row.when && row.refuse != "":
			return "", invalid("%s", row.refuse)
		case row.when:
			return row.give, nil
		}
	}
	return wire.CredentialNone, nil
}

// readToken reads the token for a launch that hands it on. A launch with a pairing is refused too when there is no usable
// token: its proxy would have no credential to add.
func (h *Host) readToken(p *Plan, set *settings.Settings) error {
	switch {
	case !p.request.Token.Empty():
		p.token = p.request.Token
	case p.Credential == wire.CredentialToken:
		key, path, err := set.TokenFile("")
		if err != nil {
			return err
		}
		var warnings []string
		p.token, warnings, err = credential.Read(key, path)
		h.warnAll(warnings)
		return err
	case p.Credential == wire.CredentialPairing:
		provider, warnings, err := h.config.Broker.warnedProvider(p.TemplateID)
		provider.Credential.Wipe()
		h.warnAll(warnings)
		return err
	}
	return nil
}

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
