package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"hostshim/host/wire"
)

func TestH04ParseLaunch(t *testing.T) {
	r, err := parseLaunch([]byte(`{"v": 1, "session_id": "s1", "kind": "pty", "resume": true, "project": {"id": 7}, "directory": "/d", "name": "n",
		"template_id": "t", "argv": ["a", "b"], "extra_args": ["c"], "env": {"A": "B"}, "pty": {"cols": 132, "rows": 43, "x": 1},
		"idle_timeout_sec": 90, "host": null, "sandbox": {"profile_path": "/p", "x": 1}, "identity": {"secret": "abc"}, "model_key": "mk",
		"session_request": {"any": ["thing"]}, "claude_token": "tok\u0041", "unknown": 1, "KIND": "chat", "Claude_Token": "wrong"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.SessionID != "s1" || r.Kind != wire.KindPty || !r.Resume || r.Project != `{"id": 7}` || r.Directory != "/d" || r.Name != "n" || r.TemplateID != "t" ||
		strings.Join(r.Argv, " ") != "a b" || strings.Join(r.ExtraArgs, " ") != "c" || r.Env["A"] != "B" || r.Cols != 132 || r.Rows != 43 ||
		r.Idle != 90*time.Second || r.Remote || !r.Sandbox || r.ProfilePath != "/p" {
		t.Errorf("read %+v", r)
	}
	if string(r.Identity.Reveal()) != "abc" || string(r.ModelKey.Reveal()) != "mk" || string(r.Token.Reveal()) != "tokA" {
		t.Error("a secret was read wrong")
	}
	for text, sandboxed := range map[string]bool{``: false, `"sandbox": null,`: false, `"sandbox": {},`: true, `"sandbox": {"profile_path": null},`: true} {
		r, err := parseLaunch([]byte(`{` + text + `"v": 1, "session_id": "s", "kind": "claude", "directory": "/d", "project": "p", "pty": null, "host": "", "identity": null, "claude_token": null}`))
		if err != nil || r.Sandbox != sandboxed || r.ProfilePath != "" || r.Remote || r.Cols != 80 || r.Rows != 24 || r.Project != "p" || !r.Token.Empty() || !r.Identity.Empty() {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

func TestH05ParseLaunchRefuses(t *testing.T) {
	const secret = "s3cr3t-MARKER"
	for body, want := range map[string]string{
		``: "the request is not a JSON object", `null`: "the request is not a JSON object", `[]`: "the request is not a JSON object",
		`{"v": 1} x`: "the request is not a JSON object", `{"claude_token": "` + secret: "the request is not a JSON object",
		`{"v": 2, "session_id": "s", "kind": "pty", "directory": "/"}`: "v is 2, want 1",
		`{"session_id": "s", "kind": "pty", "directory": "/"}`:         "v is 0, want 1",
		`{"v": "1"}`: "v is of the wrong type, or out of range",
		`{"v": 1, "kind": "pty", "directory": "/"}`:                    "session_id is missing",
		`{"v": 1, "session_id": "s", "directory": "/"}`:                "kind is missing",
		`{"v": 1, "session_id": "s", "kind": "pty"}`:                   "directory is missing",
		`{"v": 1, "session_id": "s", "kind": "run", "directory": "/"}`: `unknown kind "run"`,
		`{"claude_token": 123456789}`:                                  "claude_token is of the wrong type, or out of range",
		`{"claude_token": {"` + secret + `": 1}}`:                      "claude_token is of the wrong type, or out of range",
		`{"model_key": ["` + secret + `"]}`:                            "model_key is of the wrong type, or out of range",
		`{"identity": "` + secret + `"}`:                               "identity is not a JSON object",
		`{"identity": {}}`:                                             "identity.secret: empty",
		`{"identity": {"secret": ""}}`:                                 "identity.secret: empty",
		`{"identity": {"secret": "a b"}}`:                              "identity.secret: holds a character that no token has",
		`{"identity": {"secret": 5}}`:                                  "secret is of the wrong type, or out of range",
		`{"env": {"A": 5}}`:                                            "env is of the wrong type, or out of range",
		`{"argv": "` + secret + `"}`:                                   "argv is of the wrong type, or out of range",
		`{"sandbox": true}`:                                            "sandbox is not a JSON object",
		`{"sandbox": {"profile_path": ""}}`:                            "sandbox.profile_path is not an absolute path",
		`{"sandbox": {"profile_path": "p"}}`:                           "sandbox.profile_path is not an absolute path",
		`{"pty": {"cols": -1, "rows": 1}}`:                             "cols and rows: want 1 to 65535",
		`{"pty": {"cols": 65536, "rows": 1}}`:                          "cols and rows: want 1 to 65535",
		`{"pty": {"cols": 1.5, "rows": 1}}`:                            "cols and rows: want 1 to 65535",
		`{"v": 1, "session_id": "s", "kind": "pty", "directory": "/", "idle_timeout_sec": -1}`:                   "idle_timeout_sec is of the wrong type, or out of range",
		`{"v": 1, "session_id": "s", "kind": "pty", "directory": "/", "idle_timeout_sec": 9223372037}`:           "idle_timeout_sec is of the wrong type, or out of range",
		`{"v": 1, "session_id": "s", "kind": "pty", "directory": "/", "idle_timeout_sec": 99999999999999999999}`: "idle_timeout_sec is of the wrong type, or out of range",
		`{"v": 1, "session_id": "s", "kind": "pty", "directory": "/", "credential": "all"}`:                      "credential is none of auto, token, pairing, none",
	} {
		_, err := parseLaunch([]byte(body))
		var refusal *wire.Error
		if !errors.As(err, &refusal) || refusal.Code != wire.InvalidSpec || refusal.Message != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "MARKER") {
			t.Errorf("%s: its content is in %v", body, err)
		}
	}
}

func FuzzParseLaunch(f *testing.F) {
	f.Add([]byte(`{"v": 1, "session_id": "s", "kind": "pty", "directory": "/", "sandbox": {}, "pty": {"cols": 1, "rows": 1}}`))
	f.Add([]byte(`{"identity": {"secret": "\u0061"}, "claude_token": "t", "host": 1, "project": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseLaunch(bytes.Clone(data)) // which it wipes
		if r == nil {
			t.Fatal("no request")
		}
		if err == nil && (!json.Valid(data) || r.SessionID == "" || r.Cols < 1 || r.Cols > maxSize || r.Idle < 0 || r.ProfilePath != "" && !r.Sandbox) {
			t.Errorf("%q was read as %+v", data, r)
		}
	})
}
