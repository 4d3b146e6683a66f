package wire

// States of a session.
const (
	StateStarting = "starting"
	StateRunning  = "running"
	StateEnded    = "ended"
)

// Why a session ended.
const (
	EndExit        = "exit"         // the target ended by itself
	EndClosed      = "closed"       // POST /terminate
	EndIdle        = "idle"         // no input and no output for its idle timeout
	EndHostStopped = "host-stopped" // the host was told to stop
)

// Launch is a launch request, version 1, as this project's own client sends it (H04). The host reads more members.
type Launch struct {
	Version    int               `json:"v"`
	SessionID  string            `json:"session_id"`
	Kind       string            `json:"kind"`
	Directory  string            `json:"directory"`
	Name       string            `json:"name"`
	TemplateID string            `json:"template_id"`
	Argv       []string          `json:"argv"`
	Env        map[string]string `json:"env"`
	Terminal   Size              `json:"pty"`
	Credential string            `json:"credential"`
	ByHand     bool              `json:"by_hand"`           // a person asked, at a command line
	Sandbox    *struct{}         `json:"sandbox,omitempty"` // nil: unsandboxed; else the host's own profile
}

// Size is the size of a terminal, in characters.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// Terminate ends a session (H08).
type Terminate struct {
	SessionID string `json:"session_id"`
	Reason    string `json:"reason"` // for the host's log
}

// Launched is the answer to a launch.
type Launched struct {
	SessionID string       `json:"session_id"`
	RootPID   int          `json:"root_pid"` // the shim's for a pty, else 0 (H04)
	Body      LaunchedBody `json:"body"`
}

// LaunchedBody is the session, and the same in relay's own words; name and directory are the same in both.
type LaunchedBody struct {
	Session
	*RelayTerminal // kind pty
	*RelaySession  // other kinds
}

// RelayTerminal is what relay's clients read of a terminal.
type RelayTerminal struct {
	TerminalID string    `json:"terminalId"`
	TemplateID string    `json:"templateId"`
	Host       *struct{} `json:"host"` // always null: this machine
}

// RelaySession is what relay's clients read of a session that is no terminal.
type RelaySession struct {
	SessionID string `json:"sessionId"`
	ProjectID string `json:"projectId"`
	Model     string `json:"model"`
}

// Session is a session as GET /sessions/{id} shows it (H07). It holds no secret.
type Session struct {
	SessionID   string   `json:"session_id"`
	Kind        string   `json:"kind"`
	Name        string   `json:"name"`
	Project     string   `json:"project"`
	TemplateID  string   `json:"template_id"`
	Directory   string   `json:"directory"`
	State       string   `json:"state"`
	Sandbox     bool     `json:"sandbox"`
	Credential  string   `json:"credential"` // none, token or pairing
	PairingID   string   `json:"pairing_id,omitempty"`
	Requests    *int     `json:"requests,omitempty"` // with the pairing, so far, that went upstream; nil: it has none
	RootPID     int      `json:"root_pid"`           // the shim, whatever the kind
	TargetPID   int      `json:"target_pid"`         // leader of the target's process group
	CreatedAt   string   `json:"created_at"`
	EndedAt     string   `json:"ended_at,omitempty"`
	ExitStatus  *int     `json:"exit_status,omitempty"` // 128 + signal when one ended the target
	Signal      int      `json:"signal,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	IdleSeconds int64    `json:"idle_timeout_sec,omitempty"`
	Cols        int      `json:"cols,omitempty"`
	Rows        int      `json:"rows,omitempty"`
	OutputBytes int64    `json:"output_bytes"`     // ever written
	Stderr      []string `json:"stderr,omitempty"` // the last lines, of a target on pipes
	// Of a Claude session that session_request describes: the UUID that Claude Code knows it by.
	Conversation string `json:"conversation,omitempty"`
	Attention    string `json:"attention,omitempty"` // why it wants a person, since the last input; see CauseBell
}

// Sessions is a list of sessions, oldest first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Host is a running host, as GET /status shows it.
type Host struct {
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	Since    string `json:"since"`
	Socket   string `json:"socket"`
	Sessions int    `json:"sessions"` // live
	Ended    int    `json:"ended"`    // still listed
	BaseURL  string `json:"model_proxy"`
	// Why the model proxy is not listening although the settings want it.
	ProxyProblem string `json:"model_proxy_problem,omitempty"`
}

// Pairing is a session pairing (P01). The bearer itself is only in the answer to its creation.
type Pairing struct {
	ID        string `json:"id"`
	Pairing   string `json:"pairing,omitempty"`
	ClientID  string `json:"clientId"`
	BaseURL   string `json:"baseUrl"`
	Idle      int64  `json:"idleTimeoutSeconds"`
	CreatedAt string `json:"createdAt"`
}

// Pairings is a list of pairings, oldest first.
type Pairings struct {
	Sessions []Pairing `json:"sessions"`
}
