package wire

// Names of the events of GET /events.
const (
	EventLaunch    = "launch"
	EventEnd       = "end"
	EventAttention = "attention"
	EventReset     = "reset"
)

// Why a session wants a person.
const (
	CauseBell     = "bell"     // its terminal rang
	CauseNotice   = "notice"   // its terminal was to show a notification
	CauseQuestion = "question" // Claude Code asks its client for something, such as a permission
	CauseTurn     = "turn"     // Claude Code has ended its turn
)

// Event is what became of a session. It holds no secret.
type Event struct {
	SessionID  string `json:"session_id"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`        // its beginning
	TemplateID string `json:"template_id"` // its beginning
	At         string `json:"at"`
	Cause      string `json:"cause,omitempty"`       // of attention
	ExitStatus *int   `json:"exit_status,omitempty"` // of an end, as Session has them
	Signal     int    `json:"signal,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Reset says that events are missing before the next one: whoever follows them lists the sessions anew.
type Reset struct {
	Lost int64 `json:"lost,omitempty"` // how many; 0: another host's, so nobody knows
}
