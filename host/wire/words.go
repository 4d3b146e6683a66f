// Package wire holds the words of the host's API: what the long-lived host and its clients both say. It is a leaf, so
// that a client needs nothing of the host.
package wire

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

// Credentials are the kinds that a caller may ask for.
var Credentials = []string{CredentialAuto, CredentialToken, CredentialPairing, CredentialNone}

// Error is what could not be done, with the API's code for it (H04). It holds no secret.
type Error struct {
	Code    string `json:"error"`
	Message string `json:"message"`

	// Of a target that could not be started:
	Errno      int `json:"errno,omitempty"`       // the system's number for the reason
	ExitStatus int `json:"exit_status,omitempty"` // what the shim ended with: 127 not found, 126 cannot start, 128 + signal
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Codes of a launch that did not happen.
const (
	InvalidSpec        = "invalid_spec"
	SandboxUnavailable = "sandbox_unavailable"
	SessionExists      = "session_exists"
	IdentityRefused    = "identity_refused"
	SpawnFailed        = "spawn_failed"
	NotHeld            = "not_held" // drop_in_for: no session waits for this terminal
	Stopping           = "stopping" // the host takes no new session
)

// Codes of other requests.
const (
	TooLarge       = "too_large"
	SessionUnknown = "session_unknown"
	SessionEnded   = "session_ended"
	NotPossible    = "not_possible" // this session cannot do what was asked for

	NotFound         = "not_found" // no such route, or no pairing of that id
	MethodNotAllowed = "method_not_allowed"
	NotListening     = "not_listening" // the model proxy
	TooMany          = "too_many"
)

// Attached connections: raw bytes both ways after a 101 answer.
const (
	AttachProtocol = "relay-attach"
	OffsetHeader   = "Output-Offset" // of this answer, and of a log: how many bytes of output came before its first one
)

// PairingsPath is where pairings are made, listed and revoked (P01).
const PairingsPath = "/v1/llm-proxy/sessions"
