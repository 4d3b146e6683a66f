package shim

// This file holds, once, everything that two programs must agree on: descriptor numbers, limits, exit statuses, event
// names, environment names and the form of a session id.

// Launch descriptors, as the shim finds them (S03). No two of them ever share a number.
const (
	IdentityFD = 3 // read end of a pipe: the identity secret; only with --identity
	StatusFD   = 4 // write end of a pipe: status events; the default of --status-fd
	TokenFD    = 5 // read end of a pipe: the token; only with --pass-token, passed on at the same number
	ListenerFD = 6 // Unix socket, host to second stage: carries the model network's listener back (X09)
)

// Limits. Sizes are in bytes, times in seconds.
const (
	SecretLen     = 64       // the identity secret: exactly this many lower-case hex characters (S09)
	MaxToken      = 4096     // a token; every pipe takes this much without blocking (T03, T07)
	MaxAnswer     = 64 << 10 // one line of the bridge's answer (S10)
	MaxProfile    = 1 << 20  // a sandbox profile (X03)
	SecretSeconds = 10       // to read the identity secret to its end (S09)
	DialSeconds   = 5        // to reach the bridge (S10)
	HelloSeconds  = 10       // for the whole exchange with the bridge (S10)
)

// Exit statuses of the shim that are not the target's own (S16).
const (
	ExitUsage       = 70  // usage, internal, or a sandbox that cannot be applied
	ExitRefused     = 78  // identity secret or Hello refused; the host refuses launches with it too
	ExitCannotStart = 126 // target found but cannot start
	ExitNotFound    = 127 // target not found
	ExitSignal      = 128 // plus the signal that ended the target or the launch
)

// Status events (S11). No other event is ever written.
const (
	EventNoIdentity   = "no_identity"
	EventHelloOK      = "hello_ok"
	EventBadSecret    = "bad_secret"
	EventHelloRefused = "hello_refused"
	EventSpawnFailed  = "spawn_failed"
	EventStarted      = "started"
	EventExit         = "exit"
)

// Environment names.
const (
	EnvTokenFD      = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR" // tells Claude Code which descriptor holds its token (S08)
	EnvLaunchFD     = "RELAY_LAUNCH_FD"                         // never reaches a target (S08)
	EnvBridgeSocket = "RELAY_BRIDGE_SOCKET"                     // Unix socket that answers Hello (S10)
	EnvSessionID    = "RELAY_SESSION_ID"                        // set by the host (E02)
	EnvMaxProcs     = "GOMAXPROCS"                              // the Go runtime's own: how many threads run at once
)

// The private modes of a terminal emulator that a person would notice, and that are put back after a target (S22), by what a
// fresh terminal has. The alternate screens come last, since leaving one shows the person's own screen again. 1049 is the
// first of them: it alone moves the cursor, to where it was saved on the own screen.
var (
	ModesOff = []int{
		1,                                                 // application cursor keys
		9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016, // mouse
		1004, 2004, 2026, // focus events, bracketed paste, held output
	}
	ModesOn = []int{7, 25} // line wrap, visible cursor
	Screens = []int{1049, 1047, 47}
)

// AnthropicCredentials are the variables that Claude Code would use instead of the token on its descriptor, or beside
// it. The shim warns of them (S08), and the host drops them (E03).
var AnthropicCredentials = []string{
	"ANTHROPIC_API_KEY",
	"ANTHROPIC_AUTH_TOKEN",
	"CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
}

// The model network (X09): a session's own loopback with one listener.
const (
	ModelAddr = "127.0.0.1"
	ModelPort = 8787 // always free, because the network namespace is new
)

// ValidSessionID says whether id can name a session, and so a file: [A-Za-z0-9][A-Za-z0-9._-]{0,127} (X01).
func ValidSessionID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}
