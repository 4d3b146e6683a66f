package host

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostshim/host/credential"
	"hostshim/host/protect"
	"hostshim/host/reach"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Plan is a launch that may happen: everything is decided, nothing is minted or written yet (T04).
type Plan struct {
	TemplateID string
	Sandboxed  bool
	Credential string        // wire.CredentialNone, CredentialToken or CredentialPairing
	Idle       time.Duration // how long a served session may go without input and output; 0: for ever

	request   *Request
	clientID  string // of the pairing
	argv      []string
	env       []string
	fills     []settings.Fill   // what the pairing and the proxy's address are filled into (A02)
	ours      bool              // nobody named another program than the template's command
	ownArgs   int               // how many arguments after the first word are the template's own
	token     credential.Secret // what descriptor 5 will carry, if it is known by now
	network   string            // shim.NetworkOpen, NetworkModel or NetworkNone, as the template says
	hosts     reach.Hosts       // what a closed network reaches beside (N01)
	services  []service         // what the session reaches with a credential that stays outside (A04)
	profile   *sandbox.Profile  // nil: unsandboxed, or the caller brought a profile
	terminals []string          // those on descriptors 0 to 2, where a profile names them (macOS)
	temp      string            // folder of the session's own, removed at its end
	config    string            // configuration folder that the host keeps for the template's agent; "": none
	cache     string            // where the session's tools keep what they write always (E06)
	preload   string            // text of a module for node, in the temporary folder; "": none
	agent     *settings.Agent   // nil: the template names none
	watched   []string          // folders in which the user's own tools may find what the session left (X17); nil: none
	before    *protect.Prints   // of what is there before the start
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
	h.warnHeadless(r)
	template, err := r.template(set)
	if err != nil {
		return p, invalid("%v", err)
	}
	p.TemplateID, p.clientID, p.agent = template.ID, template.ClientID(), template.Agent
	p.Idle = cmp.Or(r.Idle, time.Duration(template.IdleMinutes)*time.Minute)
	if r.Kind == wire.KindRun && !template.Sandboxed() {
		p.Sandboxed = false // a person's own settings say so; a request says it itself
	}
	if p.temp, err = p.tempFolder(); err != nil {
		return p, unavailable(err)
	}
	if p.argv, err = h.command(p, template); err != nil {
		return p, err
	}
	if err := h.decideCredential(p, template, set); err != nil {
		return p, err
	}
	if err := h.readToken(p, set); err != nil {
		return p, unavailable(err)
	}
	for _, step := range []func(*Plan, settings.Template) error{h.planSandbox, h.planEnv} {
		if err := step(p, template); err != nil {
			return p, err
		}
	}
	if away := elsewhere(p.env, set.Effective().Upstream); p.Credential == wire.CredentialToken && len(away) > 0 {
		h.config.Warn("the environment leads the session, and its token, to another place than the provider: " + strings.Join(away, ", "))
	}
	if err := h.planProfile(p, template, set.TokenFiles()); err != nil {
		return p, err
	}
	h.planTools(p, template)
	h.hintNeeds(p)
	return p, h.planProtection(p, template)
}

// template is the request's template with all that this launch can fill in. One that nobody knows is only a name where the
// request brings its program: it grants nothing.
func (r *Request) template(set *settings.Settings) (settings.Template, error) {
	t, err := set.Template(r.templateID())
	var unknown *settings.UnknownTemplate
	relays := r.Kind == wire.KindPi || r.Kind == wire.KindCodex
	switch {
	case !r.ByHand && len(r.Argv) > 0 && errors.As(err, &unknown):
		return settings.Template{ID: r.templateID()}, nil
	case relays && t.Agent != nil && r.templateID() == r.Kind:
		return settings.Template{ID: t.ID}, nil // built in for people: relay leads its own agents to their models
	case err != nil:
		return t, err
	case r.Kind == wire.KindClaude && t.Command == "":
		t.Command = settings.Claude.Command
	}
	t.Read, t.ReadWrite = slices.Concat(t.Read, r.Read), slices.Concat(t.ReadWrite, r.ReadWrite) // judged as those are
	return set.Expand(t, cmp.Or(r.ProjectPath, r.Directory), r.ProjectID)
}

func (r *Request) templateID() string {
	switch {
	case r.TemplateID != "":
		return r.TemplateID
	case r.Kind == wire.KindRun || r.Kind == wire.KindClaude:
		return "claude-code"
	case r.Kind == wire.KindPi || r.Kind == wire.KindCodex:
		return r.Kind // relay reads such a kind's folders from the template of its name
	}
	return "shell"
}

// command is the target and its arguments.
func (h *Host) command(p *Plan, t settings.Template) ([]string, error) {
	r := p.request
	argv, ours := r.target(t)
	p.ours = ours
	switch {
	case len(argv) > 0:
		argv = h.withOwnArgs(p, t, argv, ours)
	case r.Kind == wire.KindPty && r.TemplateID == "":
		return nil, invalid("kind %q needs argv, or a template_id whose template has a command", r.Kind)
	default:
		argv, p.ownArgs = append([]string{t.Command}, t.Args...), len(t.Args)
		if r.Claude != nil {
			argv = append(argv, r.Claude.args(r.Conversation, r.Resume, p.promptFile())...)
		} else if r.Kind == wire.KindClaude {
			argv = append(argv, "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
		}
	}
	return append(append([]string(nil), argv...), r.ExtraArgs...), nil
}

// decideCredential says what the launch hands its target, which services it reaches, and with which network.
func (h *Host) decideCredential(p *Plan, t settings.Template, set *settings.Settings) error {
	if err := h.planServices(p, t, set); err != nil {
		return err
	}
	r, configured := p.request, set.ClaudeTokenFile != ""
	give, err := chooseCredential(r, p.Sandboxed, t, configured)
	if err != nil {
		return err
	}
	byName := r.Credential == wire.CredentialToken || !r.Token.Empty()
	if err := p.decideNetwork(t); err != nil {
		return err
	}
	if give, err = p.fitNetwork(t, give, byName); err != nil {
		return err
	}
	p.Credential = h.orWithout(r, p.Sandboxed, t, configured, give, byName)
	return nil
}

// orWithout is what the launch hands over in the end. One that goes without a token says so, with the cure.
func (h *Host) orWithout(r *Request, sandboxed bool, t settings.Template, configured bool, give string, byName bool) string {
	if !configured && give == wire.CredentialNone {
		would, err := chooseCredential(r, sandboxed, t, true)
		if err == nil && would == wire.CredentialToken && h.ownProgram(r, t) {
			h.config.Warn(fmt.Sprintf("template %q hands over a token, but claude_token_file is not set: run host init, name the token's file in settings.json, or say --credential none", t.ID))
		}
	}
	if give == wire.CredentialToken && !byName && r.ByHand && !h.ownProgram(r, t) {
		h.config.Warn(fmt.Sprintf("%q gets no token, which goes to the template's own %q: --credential token hands it over", r.Argv[0], t.Command))
		return wire.CredentialNone
	}
	return give
}

// ownProgram says whether the target is the template's own command. The same file by another name is
// not: such a name decides what many a program does.
func (h *Host) ownProgram(r *Request, t settings.Template) bool {
	argv, ours := r.target(t)
	if ours {
		return true
	}
	path := lookup(h.config.Environ, "PATH")
	for _, layer := range []map[string]string{t.Env, r.Env} {
		if own, ok := layer["PATH"]; ok {
			path = own
		}
	}
	target, own := FindProgram(argv[0], path, r.Directory), FindProgram(t.Command, path, r.Directory)
	if target == "" || own == "" {
		return argv[0] == t.Command
	}
	real, err := filepath.EvalSymlinks(own)
	if err != nil || target == own || target == real {
		return err == nil
	}
	targetReal, err := filepath.EvalSymlinks(target)
	return err == nil && targetReal == real && filepath.Base(target) == filepath.Base(own)
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
		own, err := set.Access("")
		if err != nil {
			return err
		}
		var warnings []string
		p.token, warnings, err = credential.Read(own.Key, own.Path)
		h.warnAll(warnings)
		return err
	case p.Credential == wire.CredentialPairing:
		provider, warnings, err := h.config.Broker.warnedProvider(p.clientID, "")
		provider.Credential.Wipe()
		h.warnAll(warnings)
		return err
	}
	return nil
}
