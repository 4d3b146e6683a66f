package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"hostshim/host/credential"
)

// Limits of the wire.
const (
	maxBody     = 8 << 20          // a launch request, or one piece of input (H04)
	bodyWithin  = 30 * time.Second // for a body to arrive: a client that stalls holds up nobody else
	restWithin  = time.Second      // for the rest of one that nobody reads, after its answer
	maxSize     = 65535            // columns or rows of a terminal
	defaultCols = 80
	defaultRows = 24
)

var errBodyTooLarge = fmt.Errorf("the body is larger than %d bytes", maxBody)

// readBody reads a request's body. A buffer that proves too small is wiped: bodies hold secrets.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	conn := http.NewResponseController(w)
	conn.SetReadDeadline(time.Now().Add(bodyWithin))
	defer conn.SetReadDeadline(time.Time{})
	buf, n := make([]byte, min(max(512, r.ContentLength+1), 64<<10)), 0
	for {
		m, err := r.Body.Read(buf[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			return buf[:n], nil
		case n > maxBody:
			clear(buf)
			return nil, errBodyTooLarge
		case err != nil:
			clear(buf)
			return nil, fmt.Errorf("the body broke off after %d bytes", n)
		case n == len(buf):
			larger := make([]byte, min(4*n, maxBody+1))
			copy(larger, buf)
			clear(buf)
			buf = larger
		}
	}
}

// wholeBody keeps the connection only once a body was read to its end: before it answers, and after, net/http would
// wait for the rest for ever.
type wholeBody struct {
	io.ReadCloser
	header http.Header // of the answer
}

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.header.Del("Connection")
	}
	return n, err
}

// leave bounds what is still read of a body that nobody wanted whole.
func (b *wholeBody) leave(w http.ResponseWriter) {
	if b.header.Get("Connection") == "close" {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(restWithin))
	}
}

// object is a JSON object by its members' exact names; of two with one name the last counts. Package json by
// itself would take a name in any letter case, and quote values in its errors.
type object map[string]json.RawMessage

func parseObject(data []byte, name string) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return nil, &Refusal{InvalidSpec, name + " is not a JSON object"}
	}
	return o, nil
}

// has says whether a member is there and not null.
func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && !bytes.Equal(raw, []byte("null"))
}

// take reads a member into v, which stays as it is when there is none.
func (o object) take(name string, v any) error {
	if !o.has(name) {
		return nil
	}
	if err := json.Unmarshal(o[name], v); err != nil {
		return &Refusal{InvalidSpec, fmt.Sprintf("%s is of the wrong type, or out of range", name)}
	}
	return nil
}

func (o object) wipe() {
	for _, raw := range o {
		clear(raw)
	}
}

// parseLaunch reads relay's launch request, version 1 (H04). Members that it does not know are ignored.
func parseLaunch(body []byte) (*Request, error) {
	r := &Request{Cols: defaultCols, Rows: defaultRows}
	o, err := parseObject(body, "the request")
	if err != nil {
		return r, err
	}
	defer o.wipe()
	version, idle := 0, int64(0)
	for _, m := range []struct {
		name string
		to   any
	}{
		{"session_id", &r.SessionID}, {"kind", &r.Kind}, {"v", &version}, {"resume", &r.Resume}, {"directory", &r.Directory},
		{"name", &r.Name}, {"template_id", &r.TemplateID}, {"argv", &r.Argv}, {"extra_args", &r.ExtraArgs}, {"env", &r.Env},
		{"idle_timeout_sec", &idle}, {"model_key", &r.ModelKey}, {"claude_token", &r.Token}, {"credential", &r.Credential},
	} {
		if err := o.take(m.name, m.to); err != nil {
			return r, err
		}
	}
	r.Project = o.text("project")
	r.Remote = o.has("host") && string(o["host"]) != `""`
	for _, step := range []func(*Request) error{o.takeTerminal, o.takeSandbox, o.takeIdentity} {
		if err := step(r); err != nil {
			return r, err
		}
	}
	switch {
	case version != 1:
		return r, &Refusal{InvalidSpec, fmt.Sprintf("v is %d, want 1", version)}
	case r.SessionID == "":
		return r, &Refusal{InvalidSpec, "session_id is missing"}
	case r.Kind == "":
		return r, &Refusal{InvalidSpec, "kind is missing"}
	case r.Kind == KindRun:
		return r, &Refusal{InvalidSpec, fmt.Sprintf("unknown kind %q", r.Kind)}
	case r.Directory == "":
		return r, &Refusal{InvalidSpec, "directory is missing"}
	case idle < 0 || idle > int64(maxDuration/time.Second):
		return r, &Refusal{InvalidSpec, "idle_timeout_sec is of the wrong type, or out of range"}
	case !slices.Contains([]string{"", CredentialAuto, CredentialToken, CredentialPairing, CredentialNone}, r.Credential):
		return r, &Refusal{InvalidSpec, "credential is none of auto, token, pairing, none"}
	}
	r.Idle = time.Duration(idle) * time.Second
	return r, nil
}

const maxDuration = time.Duration(1<<63 - 1)

// text is a member that is only shown again: a string, or whatever else as it stands.
func (o object) text(name string) (text string) {
	if raw := o[name]; o.has(name) && json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text
}

func (o object) takeTerminal(r *Request) error {
	if !o.has("pty") {
		return nil
	}
	size, err := parseObject(o["pty"], "pty")
	if err != nil {
		return err
	}
	r.Cols, r.Rows, err = size.terminalSize()
	return err
}

func (o object) terminalSize() (cols, rows int, err error) {
	if err := errors.Join(o.take("cols", &cols), o.take("rows", &rows)); err != nil || cols < 1 || rows < 1 || cols > maxSize || rows > maxSize {
		return 0, 0, &Refusal{InvalidSpec, fmt.Sprintf("cols and rows: want 1 to %d", maxSize)}
	}
	return cols, rows, nil
}

// takeSandbox: absent, unsandboxed; empty, the host's own profile; with a path, that profile.
func (o object) takeSandbox(r *Request) error {
	if r.Sandbox = o.has("sandbox"); !r.Sandbox {
		return nil
	}
	sandbox, err := parseObject(o["sandbox"], "sandbox")
	if err != nil || !sandbox.has("profile_path") {
		return err
	}
	if err := sandbox.take("profile_path", &r.ProfilePath); err != nil {
		return err
	}
	if !filepath.IsAbs(r.ProfilePath) {
		return &Refusal{InvalidSpec, "sandbox.profile_path is not an absolute path"}
	}
	return nil
}

func (o object) takeIdentity(r *Request) error {
	if !o.has("identity") {
		return nil
	}
	identity, err := parseObject(o["identity"], "identity")
	if err != nil {
		return err
	}
	defer identity.wipe()
	if err := identity.take("secret", &r.Identity); err != nil {
		return err
	}
	if err := credential.Check(r.Identity.Reveal()); err != nil {
		return &Refusal{InvalidSpec, "identity.secret: " + err.Error()}
	}
	return nil
}
