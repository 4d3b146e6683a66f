package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostshim/host/credential"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Request is a launch as its caller wants it. Planning does not change it.
type Request struct {
	SessionID   string
	Kind        string
	Resume      bool
	Project     string // as the caller wrote it, to be shown again
	ProjectID   string // replaces ${PROJECT_ID} in a template
	ProjectPath string // replaces ${PROJECT_PATH}; "": the directory does
	Directory   string // absolute; where the target starts
	Name        string
	TemplateID  string // "": the kind's usual one
	Argv        []string
	ExtraArgs   []string
	Env         map[string]string
	AllowHosts  []string      // hosts that a closed network reaches beside the template's (N01)
	Services    []string      // that it may use beside the template's (A04)
	Read        []string      // beside the template's entries (X05)
	ReadWrite   []string      // likewise
	KeepEnv     []string      // names that the target keeps although they look like credentials
	Cols, Rows  int           // pty: size of the terminal
	Idle        time.Duration // 0: never
	Remote      bool          // for another machine
	Sandbox     bool
	ProfilePath string            // a profile the caller wrote; "": the host writes one
	Identity    credential.Secret // empty: none
	ModelKey    credential.Secret // replaces ${MODEL_KEY} in env values; empty: such a variable is left out
	Token       credential.Secret // brought by the caller; empty: the host reads its file
	ByHand      bool              // a person asked, at a command line: a mistake is refused, a token kept closer (T09)
	Credential  string            // wire.CredentialAuto or "": what the template says

	Model        string  // as the request names it, to be shown
	Claude       *Claude // how kind claude runs without argv; nil: nobody said
	Conversation string  // UUID of that kind's conversation
	TraceID      string  // of the request that asked for the launch

	preview bool // nothing is to be opened for it
}

// Wipe forgets the secrets that a request brought.
func (r *Request) Wipe() {
	r.Identity.Wipe()
	r.ModelKey.Wipe()
	r.Token.Wipe()
}

// NewSessionID makes a session id that nobody has used.
func NewSessionID(prefix string) string {
	var b [8]byte
	rand.Read(b[:])
	return prefix + "-" + hex.EncodeToString(b[:])
}

func invalid(format string, args ...any) error {
	return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf(format, args...)}
}

func unavailable(err error) error {
	return &wire.Error{Code: wire.SandboxUnavailable, Message: err.Error()}
}

// needsClaude refuses a token that was asked for, or brought, where none can be given (H05).
const needsClaude = "claude token requires a sandboxed local claude launch"

// check holds what a request must be, whoever made it (H05).
func (r *Request) check() error {
	if err := r.checkToken(); err != nil {
		return err
	}
	if err := r.checkKind(); err != nil {
		return err
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
	if info, err := os.Stat(r.Directory); err != nil {
		return invalid("directory %q: %s", r.Directory, Reason(err))
	} else if !info.IsDir() {
		return invalid("directory %q: not a directory", r.Directory)
	}
	for _, arg := range slices.Concat(r.Argv, r.ExtraArgs) {
		if strings.ContainsRune(arg, 0) {
			return invalid("an argument holds a NUL byte")
		}
	}
	if err := r.checkClaude(); err != nil {
		return err
	}
	if !r.Identity.Empty() && lookup(os.Environ(), shim.EnvBridgeSocket) == "" {
		return invalid("identity without %s in the host's environment", shim.EnvBridgeSocket)
	}
	return nil
}

func (r *Request) checkKind() error {
	switch r.Kind {
	case wire.KindRun, wire.KindPty, wire.KindClaude:
	case wire.KindPi, wire.KindCodex:
		if len(r.Argv) == 0 {
			return invalid("kind %q needs argv: relay's own session service makes its command line", r.Kind)
		}
	case wire.KindChat:
		return invalid("kind %q has no process here: relay's own session service is its client", r.Kind)
	default:
		return invalid("unknown kind %.64q", r.Kind)
	}
	return nil
}

// checkToken judges a token that the request brought.
func (r *Request) checkToken() error {
	if r.Token.Empty() {
		return nil
	}
	other := r.Kind == wire.KindPi || r.Kind == wire.KindCodex || r.Kind == wire.KindChat
	if !r.Sandbox || r.Remote || other {
		return invalid("%s", needsClaude)
	}
	if err := credential.Check(r.Token.Reveal()); err != nil {
		return invalid("claude_token: %v", err)
	}
	return nil
}

// Reason is an error in the system's own words, without the path and the call.
func Reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
