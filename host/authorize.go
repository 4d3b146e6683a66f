package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/sandbox"
	"hostshim/shim"
)

// plan is a launch that may happen: everything decided, nothing minted or written yet (T04).
type plan struct {
	*Request
	argv       []string
	env        []string
	credential string            // CredentialNone, CredentialToken or CredentialPairing
	token      credential.Secret // what descriptor 5 will carry, if it is known by now
	network    string            // shim.NetworkOpen or shim.NetworkModel
	profile    *sandbox.Profile  // nil: unsandboxed, or the caller brought a profile
	temp       string            // folder of the session's own, removed at its end
	config     string            // Claude Code's configuration folder; "": not the host's business
	pairingID  string
}

// authorize decides a launch. It reads the settings and the token file anew (T05) and changes nothing.
func (h *Host) authorize(r *Request) (*plan, error) {
	settings, warnings, err := LoadSettings(h.Places.Settings, h.Places.Named)
	if err != nil {
		return nil, &Refusal{SandboxUnavailable, err.Error()}
	}
	h.warnAll(warnings)
	if err := r.check(); err != nil {
		return nil, err
	}
	template, err := settings.Template(r.template())
	if err != nil {
		return nil, &Refusal{InvalidSpec, err.Error()}
	}
	r.TemplateID = template.ID
	if r.Kind == KindRun && !template.Sandboxed() {
		r.Sandbox = false // a person's own settings say so; a request says it itself
	}
	p := &plan{Request: r, network: shim.NetworkOpen}
	if p.argv, err = r.command(template); err != nil {
		return nil, err
	}
	if p.credential, err = chooseCredential(r, template, settings.ClaudeTokenFile != ""); err != nil {
		return nil, err
	}
	if err := p.checkNetwork(template); err != nil {
		return nil, err
	}
	private, err := settings.tokenFiles()
	if err == nil {
		err = h.readToken(p, settings)
	}
	if err != nil {
		return nil, &Refusal{SandboxUnavailable, err.Error()}
	}
	if r.Sandbox {
		if err := h.planSandbox(p, template); err != nil {
			return nil, err
		}
	}
	if err := h.planEnv(p, template); err != nil {
		return nil, err
	}
	return p, h.planProfile(p, template, private)
}

// needsClaude refuses a token that was asked for, or brought, where none can be given (H05).
const needsClaude = "claude token requires a sandboxed local claude launch"

// check holds what a request must be, whoever made it.
func (r *Request) check() error {
	invalid := func(format string, args ...any) error {
		return &Refusal{InvalidSpec, fmt.Sprintf(format, args...)}
	}
	if other := r.Kind == KindPi || r.Kind == KindCodex || r.Kind == KindChat; !r.Token.Empty() && (!r.Sandbox || r.Remote || other) {
		return invalid("%s", needsClaude)
	}
	if err := credential.Check(r.Token.Reveal()); err != nil && !r.Token.Empty() {
		return invalid("claude_token: %v", err)
	}
	switch r.Kind {
	case KindRun, KindPty, KindClaude, KindPi, KindCodex:
	case KindChat:
		return invalid("kind %q has no process here", r.Kind)
	default:
		return invalid("unknown kind %.64q", r.Kind)
	}
	if !shim.ValidSessionID(r.SessionID) {
		return invalid("session_id %.140q: want a letter or digit, then letters, digits, '.', '_' or '-', 128 at most", r.SessionID)
	}
	if r.Remote {
		return invalid("host: this host starts programs on its own machine only")
	}
	if !filepath.IsAbs(r.Directory) {
		return invalid("directory %.4096q is not an absolute path", r.Directory)
	}
	if info, err := os.Stat(r.Directory); err != nil || !info.IsDir() {
		return invalid("directory %q: %s", r.Directory, reason(err, "not a directory"))
	}
	for _, arg := range append(append([]string(nil), r.Argv...), r.ExtraArgs...) {
		if strings.ContainsRune(arg, 0) {
			return invalid("an argument holds a NUL byte")
		}
	}
	if !r.Identity.Empty() && lookup(os.Environ(), shim.EnvBridgeSocket) == "" {
		return invalid("identity without %s in the host's environment", shim.EnvBridgeSocket)
	}
	return nil
}

// reason is the system's own words for err, or what there is to say without one.
func reason(err error, otherwise string) string {
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return path.Err.Error()
	case err != nil:
		return err.Error()
	}
	return otherwise
}

func (r *Request) template() string {
	switch {
	case r.TemplateID != "":
		return r.TemplateID
	case r.Kind == KindRun || r.Kind == KindClaude:
		return "claude-code"
	}
	return "shell"
}

// command is the target and its arguments.
func (r *Request) command(t Template) ([]string, error) {
	argv := r.Argv
	switch {
	case len(argv) > 0:
	case r.Kind == KindPi || r.Kind == KindCodex:
		return nil, &Refusal{InvalidSpec, fmt.Sprintf("kind %q needs argv", r.Kind)}
	case t.Command == "":
		return nil, &Refusal{InvalidSpec, fmt.Sprintf("template %q has no command, and the request no argv", t.ID)}
	default:
		argv = append([]string{t.Command}, t.Args...)
		if r.Kind == KindClaude {
			argv = append(argv, "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
		}
	}
	return append(append([]string(nil), argv...), r.ExtraArgs...), nil
}

// chooseCredential says what a launch hands its target (T09). What a launch may not have is refused when it was
// asked for by name, and simply not given when it was not.
func chooseCredential(r *Request, t Template, configured bool) (string, error) {
	asked := r.Credential
	if asked == "" || asked == CredentialAuto {
		asked = ""
	}
	byName := asked == CredentialToken || !r.Token.Empty()
	claude := r.Sandbox && !r.Remote && (r.Kind == KindRun || r.Kind == KindPty || r.Kind == KindClaude)
	allowed := claude && (r.Kind == KindClaude || t.ID == "claude-code" || t.Credential == CredentialToken)
	switch {
	case byName && !claude:
		return "", &Refusal{InvalidSpec, needsClaude}
	case byName && !allowed:
		return "", &Refusal{InvalidSpec, fmt.Sprintf(`template %q gets no token: give it "credential": "token"`, t.ID)}
	case asked == CredentialPairing && !claude:
		return "", &Refusal{InvalidSpec, "a pairing requires a sandboxed local claude launch"}
	case asked == CredentialToken && !configured && r.Token.Empty():
		return "", &Refusal{InvalidSpec, "claude_token_file is not set: name the token's file in settings.json"}
	case !r.Token.Empty(), asked == CredentialToken:
		return CredentialToken, nil
	case asked == CredentialNone, asked == CredentialPairing:
		return asked, nil
	}
	// Nobody asked: the template's word, else the token where the launch may have one.
	switch {
	case t.Credential == CredentialPairing && claude:
		return CredentialPairing, nil
	case t.Credential == CredentialNone, t.Credential == CredentialPairing:
		return CredentialNone, nil
	case allowed && configured:
		return CredentialToken, nil
	}
	return CredentialNone, nil
}

// checkNetwork settles what goes with the model network: there a pairing is all that the proxy takes.
func (p *plan) checkNetwork(t Template) error {
	if !p.Sandbox || t.Network != shim.NetworkModel {
		return nil
	}
	p.network = shim.NetworkModel
	if p.credential != CredentialToken {
		return nil
	}
	if p.Credential == CredentialToken || t.Credential == CredentialToken || !p.Token.Empty() {
		return &Refusal{InvalidSpec, fmt.Sprintf(`template %q has "network": "model", where a token is of no use: ask for a pairing`, t.ID)}
	}
	p.credential = CredentialPairing
	return nil
}

// readToken reads the token for a launch that hands it on. One with a pairing is refused as well when there is no
// usable token: its proxy would have nothing to offer.
func (h *Host) readToken(p *plan, s *Settings) (err error) {
	switch {
	case !p.Token.Empty():
		p.token = p.Token
	case p.credential == CredentialToken:
		path, err := credential.Expand("claude_token_file", s.ClaudeTokenFile)
		if err != nil {
			return err
		}
		var warnings []string
		p.token, warnings, err = credential.Read("claude_token_file", path)
		h.warnAll(warnings)
		return err
	case p.credential == CredentialPairing:
		provider, warnings, err := h.warnedProvider(p.TemplateID)
		provider.Credential.Wipe()
		h.warnAll(warnings)
		return err
	}
	return nil
}
