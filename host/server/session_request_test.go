package server

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"hostshim/host"
	"hostshim/host/wire"
)

func launchWith(kind, members string) string {
	return `{"v": 1, "session_id": "s", "kind": "` + kind + `", "directory": "/top", "name": "top", ` + members + `}`
}

func TestR02SessionRequest(t *testing.T) {
	for text, want := range map[string]*host.Claude{
		`"argv": null`:                                          nil,
		`"session_request": null`:                               nil,
		`"session_request": {}`:                                 {},
		`"session_request": {"model": "m"}`:                     {Model: "m"},
		`"session_request": {"model": "m"}, "argv": []`:         {Model: "m"},
		`"session_request": {"model": "m"}, "argv": ["claude"]`: nil,
		`"session_request": {"settings": {"headless": true, "agent": true, "thinkingLevel": "high", "useRelayTools": true, "readOnlyProjects": true}, "appendClaudeMd": true}`: {
			Headless: true, ReadOnly: true},
		`"session_request": {"settings": {"permissionMode": "plan", "permissionPolicy": {"defaultMode": "acceptEdits"}}}`:                {Mode: "plan"},
		`"session_request": {"settings": {"permissionMode": "", "permissionPolicy": {"defaultMode": "acceptEdits"}}}`:                    {Mode: "acceptEdits"},
		`"session_request": {"settings": {"permissionMode": null, "permissionPolicy": null, "later": null}}`:                             {},
		`"session_request": {"settings": {"permissionPolicy": {"allowedTools": ["A"], "deniedTools": ["B", "C"]}}, "systemPrompt": "x"}`: {Allowed: []string{"A"}, Denied: []string{"B", "C"}, SystemPrompt: "x"},
	} {
		r, err := parseLaunch([]byte(launchWith("claude", text)))
		if err != nil || !reflect.DeepEqual(r.Claude, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, r.Claude, err, want)
		}
	}
}

func TestR02NothingIsLost(t *testing.T) {
	const dropped = " is not understood: if it restricts the session, it would be dropped"
	for text, want := range map[string]string{
		`{"model": "m", "maxTurns": 3}`:                                                         "session_request.maxTurns" + dropped,
		`{"model": "m", "SystemPrompt": "x"}`:                                                   "session_request.SystemPrompt" + dropped,
		`{"settings": {"deniedTools": ["Bash"]}}`:                                               "session_request.settings.deniedTools" + dropped,
		`{"settings": {"permissionmode": "plan"}}`:                                              "session_request.settings.permissionmode" + dropped,
		`{"settings": {"permissionPolicy": {"deny": []}}}`:                                      "session_request.settings.permissionPolicy.deny" + dropped,
		`{"settings": {"permissionPolicy": "none"}}`:                                            "session_request.settings.permissionPolicy is not a JSON object",
		`{"settings": []}`:                                                                      "session_request.settings is not a JSON object",
		`{"settings": {"permissionMode": ["plan"]}}`:                                            "session_request.settings.permissionMode is of the wrong type, or out of range",
		`{"settings": {"readOnlyProjects": "yes"}}`:                                             "session_request.settings.readOnlyProjects is of the wrong type, or out of range",
		`{"settings": {"permissionPolicy": {"deniedTools": "Bash"}}}`:                           "session_request.settings.permissionPolicy.deniedTools is of the wrong type, or out of range",
		`{"settings": {"permissionPolicy": {"deniedTools": ["Bash"]}, "permissionPolicy": {}}}`: "session_request.settings has two members of one name",
		`{"settings": {"permissionMode": "plan"}, "settings": {}}`:                              "session_request has two members of one name",
		`{"settings": {"permissionPolicy": {"deniedTools": ["Bash"], "denied\u0054ools": []}}}`: "session_request.settings.permissionPolicy has two members of one name",
		`7`: "session_request is not a JSON object",
	} {
		_, err := parseLaunch([]byte(launchWith("claude", `"session_request": `+text)))
		var refusal *wire.Error
		if !errors.As(err, &refusal) || refusal.Code != wire.InvalidSpec || refusal.Message != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// Whoever brings the command line must bring its restrictions with it.
	for _, settings := range []string{`{"permissionMode": "plan"}`, `{"permissionPolicy": {"deniedTools": ["Bash"]}}`, `{"readOnlyProjects": true}`, `{"maxTurns": 1}`} {
		for _, kind := range []string{"pty", "claude", "pi"} {
			if _, err := parseLaunch([]byte(launchWith(kind, `"argv": ["x"], "session_request": {"settings": `+settings+`}`))); err == nil {
				t.Errorf("kind %s took %s", kind, settings)
			}
		}
	}
}

func TestH05SessionRequestNames(t *testing.T) {
	const named = `"session_request": {"directory": "/own", "name": "own", "projectId": "q", "model": "m"}`
	for text, want := range map[string]host.Request{
		launchWith("pi", named):  {Directory: "/own", Name: "own", ProjectID: "q", Model: "m"},
		launchWith("pty", named): {Directory: "/top", Name: "own", ProjectID: "q", Model: "m"},
		launchWith("pi", `"project": {"id": "p", "path": "/x"}, `+named):            {Directory: "/own", Name: "own", ProjectID: "p", Model: "m", Project: `{"id": "p", "path": "/x"}`},
		`{"v": 1, "session_id": "s", "kind": "pty", "project": "p", ` + named + `}`: {Directory: "/own", Name: "own", ProjectID: "p", Model: "m", Project: "p"},
		launchWith("pi", `"session_request": {"unknown": 1}`):                       {Directory: "/top", Name: "top"},
	} {
		r, err := parseLaunch([]byte(text))
		if err != nil || r.Directory != want.Directory || r.Name != want.Name || r.ProjectID != want.ProjectID || r.Model != want.Model || r.Project != want.Project {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

func TestR02Conversation(t *testing.T) {
	const id, other = "6f1c0a52-9d3b-4a57-8f10-2c7be1a90d11", "11111111-2222-4333-8444-555555555555"
	described := &host.Claude{}
	for _, test := range []struct {
		name     string
		r        host.Request
		previous string
		want     string // "new": a UUID that is nobody's; "refused"
	}{
		{"fresh", host.Request{SessionID: id, Claude: described}, "", id},
		{"fresh, its id is no UUID", host.Request{SessionID: "s", Claude: described}, "", "new"},
		{"the id of an ended one, fresh", host.Request{SessionID: id, Claude: described}, id, "new"},
		{"resumed", host.Request{SessionID: id, Claude: described, Resume: true}, id, id},
		{"resumed, with a conversation of its own", host.Request{SessionID: id, Claude: described, Resume: true}, other, other},
		{"resumed after the host's restart", host.Request{SessionID: id, Claude: described, Resume: true}, "", id},
		{"resumed after the host's restart, its id is no UUID", host.Request{SessionID: "s", Claude: described, Resume: true}, "", "refused"},
		{"resumed without its policy", host.Request{SessionID: id, Resume: true}, id, "refused"},
		{"resumed with argv", host.Request{SessionID: id, Resume: true, Argv: []string{"x"}}, id, id},
		{"no Claude session", host.Request{SessionID: id}, "", ""},
		{"no Claude session any more", host.Request{SessionID: id}, id, ""},
	} {
		err := converse(&test.r, test.previous)
		got := test.r.Conversation
		ok := got == test.want && err == nil
		switch test.want {
		case "new":
			ok = err == nil && isUUID(got) && got != test.previous && got != test.r.SessionID
		case "refused":
			ok = err != nil
		}
		if !ok {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	for _, id := range []string{"", "s", id[:35], id + "0", "6f1c0a52x9d3b-4a57-8f10-2c7be1a90d11", "6f1c0a52-9d3b-4a57-8f10-2c7be1a90d1g", "-f1c0a52-9d3b-4a57-8f10-2c7be1a90d11"} {
		if isUUID(id) {
			t.Errorf("%q is taken for a UUID", id)
		}
	}
}

// Of what restricts a session nothing is lost: a mode or a rule that the text holds is followed, or the request refused.
func FuzzSessionRequest(f *testing.F) {
	f.Add([]byte(`{"model": "m", "settings": {"permissionMode": "plan", "permissionPolicy": {"deniedTools": ["Bash"]}}}`))
	f.Add([]byte(`{"settings": {"permissionPolicy": {"deniedTools": ["Bash"]}, "permissionPolicy": null}}`))
	f.Add([]byte(`{"settings": {"permissionPolicy": {"DeniedTools": ["Bash"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		body := append(append([]byte(`{"v": 1, "session_id": "s", "kind": "claude", "directory": "/", "session_request": `), data...), '}')
		r, err := parseLaunch(body)
		if err != nil || !json.Valid(data) {
			return
		}
		// Package json takes a name in any letter case and joins an object that stands twice: it finds more than a strict reader.
		var loose struct {
			Settings struct {
				PermissionMode   string
				PermissionPolicy struct {
					DefaultMode string
					DeniedTools []string
				}
				ReadOnlyProjects bool
			}
		}
		if json.Unmarshal(data, &loose) != nil {
			return
		}
		s := loose.Settings
		if s.PermissionMode+s.PermissionPolicy.DefaultMode == "" && len(s.PermissionPolicy.DeniedTools) == 0 && !s.ReadOnlyProjects {
			return
		}
		c := r.Claude
		if c == nil || len(c.Denied) != len(s.PermissionPolicy.DeniedTools) || c.ReadOnly != s.ReadOnlyProjects ||
			s.PermissionMode != "" && c.Mode != s.PermissionMode || s.PermissionMode == "" && c.Mode != s.PermissionPolicy.DefaultMode {
			t.Errorf("%s was read as %+v", data, c)
		}
	})
}
