package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hostshim/host"
	"hostshim/host/credential"
	"hostshim/host/wire"
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

// object is a JSON object by its members' exact names; of two with one name the last counts.
type object map[string]json.RawMessage

func parseObject(data []byte, name string) (object, error) {
	v, err := wire.ParseJSON(data, false)
	if err != nil || v.Kind() != "an object" {
		return nil, &wire.Error{Code: wire.InvalidSpec, Message: name + " is not a JSON object"}
	}
	o := object{}
	for _, m := range v.Members() {
		o[m.Name] = m.Raw
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
		return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("%s is of the wrong type, or out of range", name)}
	}
	return nil
}

func (o object) wipe() {
	for _, raw := range o {
		clear(raw)
	}
}

// parseLaunch reads relay's launch request, version 1 (H04). Members that it does not know are ignored.
func parseLaunch(body []byte) (*host.Request, error) {
	r := &host.Request{Cols: defaultCols, Rows: defaultRows}
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
		{"idle_timeout_sec", &idle}, {"model_key", &r.ModelKey}, {"claude_token", &r.Token}, {"credential", &r.Credential}, {"by_hand", &r.ByHand},
	} {
		if err := o.take(m.name, m.to); err != nil {
			return r, err
		}
	}
	r.Project = o.text("project")
	r.ProjectID, r.ProjectPath = o.project()
	r.Remote = o.has("host") && string(o["host"]) != `""`
	for _, step := range []func(*host.Request) error{o.takeTerminal, o.takeSandbox, o.takeIdentity, o.takeSessionRequest} {
		if err := step(r); err != nil {
			return r, err
		}
	}
	r.Idle = time.Duration(idle) * time.Second
	return r, o.check(r, version, idle)
}

// check judges what the members are together.
func (o object) check(r *host.Request, version int, idle int64) error {
	bad := func(format string, args ...any) error {
		return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf(format, args...)}
	}
	held := o.text("drop_in_for")
	switch {
	case version != 1:
		return bad("v is %d, want 1", version)
	case r.SessionID == "":
		return bad("session_id is missing")
	case r.Kind == "":
		return bad("kind is missing")
	case r.Kind == wire.KindRun:
		return bad("unknown kind %q", r.Kind)
	case r.Directory == "":
		return bad("directory is missing")
	case idle < 0 || idle > int64(maxDuration/time.Second):
		return bad("idle_timeout_sec is of the wrong type, or out of range")
	case r.Credential != "" && !slices.Contains(wire.Credentials, r.Credential):
		return bad("credential is none of auto, token, pairing, none")
	case held != "":
		return &wire.Error{Code: wire.NotHeld, Message: fmt.Sprintf("session %.128q is not held for a drop-in: this host holds none", held)}
	}
	return nil
}

const maxDuration = time.Duration(1<<63 - 1)

// text is a member that is only shown again: a string, or whatever else as it stands.
func (o object) text(name string) (text string) {
	if raw := o[name]; o.has(name) && json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text
}

// project is relay's object; others send the id itself.
func (o object) project() (id, path string) {
	p, err := parseObject(o["project"], "project")
	if err != nil {
		return o.text("project"), ""
	}
	return p.text("id"), p.text("path")
}

func (o object) takeTerminal(r *host.Request) error {
	if !o.has("pty") {
		return nil
	}
	size, err := parseObject(o["pty"], "pty")
	if err != nil {
		return err
	}
	cols, rows, err := size.terminalSize(0)
	r.Cols, r.Rows = cmp.Or(cols, defaultCols), cmp.Or(rows, defaultRows)
	return err
}

func (o object) terminalSize(least int) (cols, rows int, err error) {
	if err := errors.Join(o.take("cols", &cols), o.take("rows", &rows)); err != nil || min(cols, rows) < least || max(cols, rows) > maxSize {
		return 0, 0, &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("cols and rows: want 1 to %d", maxSize)}
	}
	return cols, rows, nil
}

// takeSandbox: absent, unsandboxed; empty, the host's own profile; with a path, that profile.
func (o object) takeSandbox(r *host.Request) error {
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
		return &wire.Error{Code: wire.InvalidSpec, Message: "sandbox.profile_path is not an absolute path"}
	}
	return nil
}

func (o object) takeIdentity(r *host.Request) error {
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
		return &wire.Error{Code: wire.InvalidSpec, Message: "identity.secret: " + err.Error()}
	}
	return nil
}
