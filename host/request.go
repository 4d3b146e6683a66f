package host

import (
	"time"

	"hostshim/host/credential"
)

// Kinds of a launch.
const (
	KindRun    = "run"    // host run: in the foreground, on the caller's own terminal or pipes
	KindPty    = "pty"    // on a terminal of its own
	KindClaude = "claude" // Claude Code on pipes, JSON lines both ways
	KindPi     = "pi"     // another agent on pipes
	KindCodex  = "codex"  // another agent on pipes
	KindChat   = "chat"   // no process: refused here
)

// What a launch hands its target, and what a caller may ask for.
const (
	CredentialAuto    = "auto"
	CredentialNone    = "none"
	CredentialToken   = "token"
	CredentialPairing = "pairing"
)

// Request is a launch as its caller wants it.
type Request struct {
	SessionID   string
	Kind        string
	Resume      bool
	Project     string
	Directory   string // absolute; where the target starts
	Name        string
	TemplateID  string // "": the kind's usual one
	Argv        []string
	ExtraArgs   []string
	Env         map[string]string
	Cols, Rows  int           // pty: size of the terminal
	Idle        time.Duration // 0: never
	Remote      bool          // for another machine
	Sandbox     bool
	ProfilePath string            // a profile the caller wrote; "": the host writes one
	Identity    credential.Secret // empty: none
	ModelKey    credential.Secret // replaces ${MODEL_KEY} in env values
	Token       credential.Secret // brought by the caller; empty: the host reads its file
	Credential  string            // CredentialAuto or "": what the template says
}

// Refusal is a launch that did not happen. Code is the wire's word for it (H04).
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Codes of a refusal.
const (
	InvalidSpec        = "invalid_spec"
	SandboxUnavailable = "sandbox_unavailable"
	SessionExists      = "session_exists"
	IdentityRefused    = "identity_refused"
	SpawnFailed        = "spawn_failed"
	Stopping           = "stopping" // the host takes no new session
)

// outcome is the audit's word for a refusal: what could not be done is an error, what was not to be is denied.
func (r *Refusal) outcome() string {
	if r.Code == SpawnFailed {
		return "error"
	}
	return "denied"
}
