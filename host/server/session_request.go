package server

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hostshim/host"
	"hostshim/host/wire"
)

// members reads an object of which no member may be lost (R02): each is known, and stands once.
func members(data []byte, name string, known ...string) (object, error) {
	o, err := parseObject(data, name)
	if err != nil {
		return nil, err
	}
	for _, member := range slices.Sorted(maps.Keys(o)) {
		if o.has(member) && !slices.Contains(known, member) {
			return nil, unknownMember(name, member)
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.Token()
	count := 0
	for ; d.More(); count++ {
		d.Token()
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return nil, &wire.Error{Code: wire.InvalidSpec, Message: name + " is not a JSON object"}
		}
	}
	if count != len(o) {
		return nil, &wire.Error{Code: wire.InvalidSpec, Message: name + " has two members of one name"}
	}
	return o, nil
}

func unknownMember(name, member string) error {
	return &wire.Error{Code: wire.InvalidSpec,
		Message: fmt.Sprintf("%s.%.64s is not understood: if it restricts the session, it would be dropped", name, member)}
}

// takeSessionRequest reads what relay says of a session that is no terminal. With argv the caller has made the command
// line by itself; then nothing here may restrict it.
func (o object) takeSessionRequest(r *host.Request) error {
	if !o.has("session_request") {
		return nil
	}
	s, err := parseObject(o["session_request"], "session_request")
	if err != nil {
		return err
	}
	decides := r.Kind == wire.KindClaude && len(r.Argv) == 0
	if decides {
		s, err = members(o["session_request"], "session_request",
			"projectId", "directory", "name", "model", "settings", "systemPrompt", "appendClaudeMd")
		if err != nil {
			return err
		}
	}
	c := &host.Claude{}
	var directory, name, project string
	var ignored bool // Claude Code reads CLAUDE.md by itself
	if err := s.takeAll("session_request", map[string]any{"projectId": &project, "directory": &directory, "name": &name,
		"model": &c.Model, "systemPrompt": &c.SystemPrompt, "appendClaudeMd": &ignored}); err != nil {
		return err
	}
	if err := s.takeSettings(c); err != nil {
		return err
	}
	if decides {
		r.Claude = c
	} else if c.Mode != "" && c.Mode != "default" || len(c.Allowed)+len(c.Denied) > 0 || c.ReadOnly {
		return &wire.Error{Code: wire.InvalidSpec, Message: "session_request.settings restricts the session, and only kind claude without argv can follow it"}
	}
	r.Model, r.Name = c.Model, cmp.Or(name, r.Name)
	r.ProjectID = cmp.Or(r.ProjectID, project)
	if r.Kind == wire.KindPty {
		directory = cmp.Or(r.Directory, directory)
	}
	r.Directory = cmp.Or(directory, r.Directory)
	return nil
}

// takeSettings reads the client's settings after relay has merged its own policy in.
func (o object) takeSettings(c *host.Claude) error {
	if !o.has("settings") {
		return nil
	}
	const name, policyName = "session_request.settings", "session_request.settings.permissionPolicy"
	s, err := members(o["settings"], name,
		"headless", "agent", "permissionMode", "permissionPolicy", "thinkingLevel", "useRelayTools", "readOnlyProjects")
	if err != nil {
		return err
	}
	// What agent, thinkingLevel and useRelayTools say is for relay's list, for another kind, and one more tool.
	var agent, tools bool
	var level string
	if err := s.takeAll(name, map[string]any{"headless": &c.Headless, "agent": &agent, "permissionMode": &c.Mode,
		"thinkingLevel": &level, "useRelayTools": &tools, "readOnlyProjects": &c.ReadOnly}); err != nil || !s.has("permissionPolicy") {
		return err
	}
	policy, err := members(s["permissionPolicy"], policyName, "defaultMode", "allowedTools", "deniedTools")
	if err != nil {
		return err
	}
	var mode string
	err = policy.takeAll(policyName, map[string]any{"defaultMode": &mode, "allowedTools": &c.Allowed, "deniedTools": &c.Denied})
	c.Mode = cmp.Or(c.Mode, mode)
	return err
}

// takeAll reads members of the object called name.
func (o object) takeAll(name string, to map[string]any) error {
	for _, member := range slices.Sorted(maps.Keys(to)) {
		if o.take(member, to[member]) != nil {
			return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("%s.%s is of the wrong type, or out of range", name, member)}
		}
	}
	return nil
}

// converse gives a Claude session its conversation: that of the session whose id it resumes, else the one of its own id.
// Claude Code refuses to begin a conversation that there is.
func converse(r *host.Request, previous string) error {
	switch {
	case r.Claude == nil && r.Resume && previous != "" && len(r.Argv) == 0:
		return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("session %q was started with a session_request: resume it with one", r.SessionID)}
	case r.Resume && previous != "":
		r.Conversation = previous
	case r.Claude == nil:
	case isUUID(r.SessionID) && (r.Resume || previous == ""):
		r.Conversation = r.SessionID
	case r.Resume:
		return &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("session %q cannot be resumed: this host did not start it, and its id is no conversation's", r.SessionID)}
	default:
		r.Conversation = newUUID()
	}
	return nil
}

func isUUID(id string) bool {
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return len(id) == 36
}

// newUUID is a random one, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
