package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// yes and no are what "sandbox" may be.
var yes, no = true, false

func TestSettings(t *testing.T) {
	defaults := Proxy{Listen: "127.0.0.1:0", Upstream: "https://api.anthropic.com", IdleTimeoutSeconds: 1800}
	proxy := func(change func(*Proxy)) Settings {
		p := defaults
		change(&p)
		return Settings{LLMProxy: &p}
	}
	for _, c := range []struct {
		name, text string
		want       Settings
	}{
		{"empty object", `{}`, Settings{}},
		{"null", ` null `, Settings{}},
		{"white space", " \r\n\t{ } \n", Settings{}},
		{"token file as written", `{"claude_token_file": "~/../a//b "}`, Settings{ClaudeTokenFile: "~/../a//b "}},
		{"token file empty", `{"claude_token_file": ""}`, Settings{}},
		{"token file that a launch will refuse", `{"claude_token_file": "a\u0000b"}`, Settings{ClaudeTokenFile: "a\x00b"}},
		{"all absent by null", `{"claude_token_file": null, "terminal_templates": null, "llm_proxy": null}`, Settings{}},
		{"unknown keys", `{"a": {"b": [1e999, {"c": null}, "\ud800", true]}, "": 0, "claude_token_file": "/t"}`, Settings{ClaudeTokenFile: "/t"}},
		{"same name in two objects", `{"a": {"x": 1, "y": {"x": 2}}, "x": [{"x": 1}, {"x": 1}]}`, Settings{}},
		{"no templates", `{"terminal_templates": []}`, Settings{}},
		{"template with an id", `{"terminal_templates": [{"id": "a"}]}`, Settings{Templates: []Template{{ID: "a"}}}},
		{"template with all", `{"terminal_templates": [{"id": "A.b_c-9", "name": "N \u00e9", "command": "c", "args": ["-x", ""],
			"env": {"B": "2", "A": "1", "N": null}, "env_passthrough": ["X_TOKEN"], "sandbox": false, "read": ["~/r"], "read_write": ["/w"],
			"deny": [], "network": "model", "credential": "pairing", "model_key": true, "idleTimeout": 1440, "icon": "x", "description": 5, "persist": true}]}`,
			Settings{Templates: []Template{{ID: "A.b_c-9", Name: "N é", Command: "c", Args: []string{"-x", ""},
				Env: map[string]string{"A": "1", "B": "2"}, EnvPassthrough: []string{"X_TOKEN"}, Sandbox: &no, Read: []string{"~/r"},
				ReadWrite: []string{"/w"}, Deny: []string{}, Network: "model", Credential: "pairing", ModelKey: true, IdleMinutes: 1440}}}},
		{"relay's endpoint", `{"model_endpoint": {"listen": "127.0.0.1:8180", "other": [1]}}`, Settings{modelEndpoint: "127.0.0.1:8180"}},
		{"template with nulls", `{"terminal_templates": [{"id": "a", "name": null, "args": null, "env": null, "sandbox": null, "network": null, "credential": null}]}`,
			Settings{Templates: []Template{{ID: "a"}}}},
		{"auto is what the launch says", `{"terminal_templates": [{"id": "a", "credential": "auto", "network": "open", "sandbox": true}, {"id": "b", "credential": "none"}, {"id": "c", "credential": "token"}]}`,
			Settings{Templates: []Template{{ID: "a", Network: "open", Sandbox: &yes}, {ID: "b", Credential: "none"}, {ID: "c", Credential: "token"}}}},
		{"proxy", `{"llm_proxy": {}}`, Settings{LLMProxy: &defaults}},
		{"proxy with nulls", `{"llm_proxy": {"listen": null, "upstream": null, "allowed_client_ids": null, "idle_timeout_seconds": null, "clients": null}}`,
			Settings{LLMProxy: &defaults}},
		{"nobody allowed", `{"llm_proxy": {"allowed_client_ids": []}}`, proxy(func(p *Proxy) { p.AllowedClientIDs = []string{} })},
		{"proxy with all", `{"llm_proxy": {"listen": "[::1]:8080", "upstream": "http://localhost:1/base", "allowed_client_ids": ["a", "b.c"],
			"subscription_client_ids": ["0"], "idle_timeout_seconds": 86400, "clients": {"a": {"token_file": "~/t"}, "b.c": {}}}}`,
			Settings{LLMProxy: &Proxy{Listen: "[::1]:8080", Upstream: "http://localhost:1/base", AllowedClientIDs: []string{"a", "b.c"},
				SubscriptionClientIDs: []string{"0"}, IdleTimeoutSeconds: 86400, Clients: map[string]Client{"a": {TokenFile: "~/t"}, "b.c": {}}}}},
		{"client with all", `{"llm_proxy": {"clients": {"a": {"token_file": "~/t", "upstream": "https://h/base", "auth": "basic:me", "paths": ["/v1/*", "/a b/c"],
			"methods": ["GET", "POST"], "requests_per_minute": 60, "requests": 1000}, "b": {"paths": [], "methods": null, "auth": null}}}}`,
			proxy(func(p *Proxy) {
				p.Clients = map[string]Client{"a": {"~/t", "https://h/base", "basic:me", []string{"/v1/*", "/a b/c"}, []string{"GET", "POST"}, 60, 1000}, "b": {Paths: []string{}}}
			})},
	} {
		got, warnings, err := parse("s.json", []byte(c.text))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %q", c.name, err, warnings)
		} else if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, *got, c.want)
		}
	}
}

// verdicts tries values of one member of llm_proxy.
func verdicts(t *testing.T, member, message string, values map[string]bool) {
	t.Helper()
	for value, good := range values {
		text, err := json.Marshal(map[string]any{"llm_proxy": map[string]any{member: json.RawMessage(value)}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = parse("s.json", text)
		if good && err != nil || !good && (err == nil || !strings.HasSuffix(err.Error(), ": key llm_proxy."+member+": "+message)) {
			t.Errorf("%s %s: %v", member, value, err)
		}
	}
}

func TestH12ListenIsLoopback(t *testing.T) {
	verdicts(t, "listen", "want a loopback address with port, as 127.0.0.1:0", map[string]bool{
		`"127.0.0.1:0"`: true, `"127.0.0.1:65535"`: true, `"127.9.8.7:80"`: true, `"[::1]:1"`: true, `"localhost:1"`: true, `"LocalHost:1"`: true,
		`""`: false, `":0"`: false, `"0.0.0.0:1"`: false, `"[::]:1"`: false, `"*:1"`: false, `"10.0.0.1:1"`: false, `"128.0.0.1:1"`: false,
		`"127.0.0.1"`: false, `"127.0.0.1:"`: false, `"127.0.0.1:65536"`: false, `"127.0.0.1:-1"`: false, `"127.0.0.1:+1"`: false, `"127.0.0.1:01"`: false,
		`"127.0.0.1:http"`: false, `"127.0.0.1:1 "`: false, `" 127.0.0.1:1"`: false, `"127.1:1"`: false, `"2130706433:1"`: false, `"0177.0.0.1:1"`: false,
		`"[::1%lo]:1"`: false, `"[::ffff:127.0.0.1]:1"`: false, `"::1:1"`: false, `"localhost.:1"`: false, `"localhost.example:1"`: false,
		`"unix:/run/s"`: false, `"http://127.0.0.1:1"`: false, `"127.0.0.1:1\u0000"`: false,
	})
}

func TestH12UpstreamIsHTTPS(t *testing.T) {
	verdicts(t, "upstream", "want an https URL, or http to a loopback host, without user, query and fragment", map[string]bool{
		`"https://api.anthropic.com"`: true, `"https://h/"`: true, `"https://h:8443/a/b"`: true, `"HTTPS://h"`: true, `"https://10.0.0.1"`: true, `"https://[2001:db8::1]:1/"`: true,
		`"http://127.0.0.1:8080"`: true, `"http://localhost"`: true, `"http://[::1]:1/x"`: true, `"http://127.1.2.3"`: true,
		`""`: false, `"api.anthropic.com"`: false, `"//h"`: false, `"https:"`: false, `"https://"`: false, `"https:///x"`: false, `"https://:1"`: false, `"https:h"`: false,
		`"http://api.anthropic.com"`: false, `"http://127.0.0.1.example"`: false, `"http://localhost.example"`: false, `"http://0.0.0.0"`: false,
		`"ftp://127.0.0.1"`: false, `"unix:///s"`: false, `"https://u@h"`: false, `"https://u:p@h"`: false, `"https://@h"`: false, `"http://127.0.0.1@evil"`: false,
		`"https://h?"`: false, `"https://h?q=1"`: false, `"https://h#"`: false, `"https://h/#f"`: false,
		`"https://h:0"`: false, `"https://h:65536"`: false, `"https://h:"`: false, `"https://h:x"`: false, `"https://h/%zz"`: false, `" https://h"`: false, `"https://h\n"`: false,
	})
}

func TestSettingsIdleTimeout(t *testing.T) {
	verdicts(t, "idle_timeout_seconds", "want a whole number from 1 to 86400", map[string]bool{
		`1`: true, `86400`: true, `0`: false, `-1`: false, `86401`: false, `1.5`: false, `1.0`: false, `1e3`: false, `99999999999999999999`: false, `-0`: false,
	})
	verdicts(t, "idle_timeout_seconds", "want a number, not a string", map[string]bool{`"1"`: false})
}

func TestSettingsIDs(t *testing.T) {
	long := strings.Repeat("a", 64)
	for id, want := range map[string][2]bool{ // template, client
		"a": {true, true}, "0": {true, true}, "a.b_c-d": {true, true}, long: {true, true}, "A": {true, false}, "claude-Code": {true, false},
		"": {}, long + "a": {}, ".a": {}, "-a": {}, "_a": {}, "a b": {}, "a/b": {}, "..": {}, "é": {}, "a\n": {}, "\u212a": {},
	} {
		if got := [2]bool{validTemplateID(id), validClientID(id)}; got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"network", "read", "read_write", "deny", "idleTimeout"}
	for name, want := range map[string]struct {
		nearest string
		letters int
	}{
		"netwrok": {"network", 1}, "NETWORK": {"network", 0}, "readwrite": {"read_write", 0}, "denny": {"deny", 1}, "idle_timeout": {"idleTimeout", 0},
		"dney": {"deny", 1}, "": {"read", 4}, "red": {"read", 1}, "raed": {"read", 1}, "\xff\xff": {"read", 4},
	} {
		if nearest, letters := Nearest(name, known); nearest != want.nearest || letters != want.letters {
			t.Errorf("%q: %q, %d letters, want %q, %d", name, nearest, letters, want.nearest, want.letters)
		}
	}
}

// TestTemplateTable holds the table of docs/sandbox.md to the keys of a template.
func TestTemplateTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| key | means |\n|---|---|\n"
	for _, k := range TemplateKeys() {
		if k.Text == "" {
			t.Errorf("%s has no meaning", k.Name)
		}
		table += "| `" + k.Name + "` | " + k.Text + " |\n"
	}
	if !strings.Contains(string(page), "\n"+table+"\n") {
		t.Errorf("docs/sandbox.md wants this table:\n%s", table)
	}
}

func TestExpand(t *testing.T) {
	t.Setenv("SHELL", "/opt/fish")
	s := &Settings{modelEndpoint: "127.0.0.1:8180"}
	in := Template{ID: "a", Args: []string{"${PROJECT_PATH}/x", "${PROJECT_ID}${OTHER}"},
		Env: map[string]string{"A": "${PROJECT_PATH}", "B": "${MODEL_ENDPOINT_URL}/v1", "C": "${MODEL_KEY}"}}
	got, err := s.Expand(in, "/p ${PROJECT_ID}", "id")
	want := Template{ID: "a", Command: "/opt/fish", Args: []string{"/p ${PROJECT_ID}/x", "id${OTHER}"},
		Env: map[string]string{"A": "/p ${PROJECT_ID}", "B": "http://127.0.0.1:8180/v1", "C": "${MODEL_KEY}"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if in.Args[0] != "${PROJECT_PATH}/x" || in.Env["A"] != "${PROJECT_PATH}" {
		t.Error("expanding changed the settings")
	}
	if _, err := (&Settings{}).Expand(in, "", ""); err == nil ||
		err.Error() != `template "a" uses ${MODEL_ENDPOINT_URL} in env "B", but model_endpoint.listen is not set in settings.json` {
		t.Error(err)
	}
}

// Marks that a pairing fills in stay, and are found in what the template says, not in what a project's name holds.
func TestA02Fills(t *testing.T) {
	in := Template{ID: "a", Args: []string{"-c", "url=${BASE_URL}/v1", "${PROJECT_PATH}"}, Env: map[string]string{"K": "${PAIRING}", "U": "${BASE_URL}", "P": "${PROJECT_PATH}"}}
	got, err := (&Settings{}).Expand(in, "${PAIRING}", "")
	want := []Fill{{PairingMark, "K"}, {BaseURLMark, ""}, {BaseURLMark, "U"}}
	if err != nil || !reflect.DeepEqual(got.Fills, want) || got.Args[1] != in.Args[1] || got.Env["K"] != "${PAIRING}" {
		t.Errorf("%+v, %v", got, err)
	}
	if in, out := fmt.Sprint(want), "[${PAIRING} in env \"K\" ${BASE_URL} in args ${BASE_URL} in env \"U\"]"; in != out {
		t.Error(in)
	}
}

func TestA01Access(t *testing.T) {
	t.Setenv("HOME", "/h")
	s, _, err := parse("s.json", []byte(`{"claude_token_file": "/claude", "llm_proxy": {"upstream": "https://one", "clients": {
		"own": {"token_file": "~/own", "upstream": "https://two", "auth": "x-api-key"}, "less": {"token_file": "/less"}, "more": {"requests": 5}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][4]string{
		"":     {"https://one", "claude_token_file", "/claude", ""},
		"none": {"https://one", "claude_token_file", "/claude", ""},
		"more": {"https://one", "claude_token_file", "/claude", ""},
		"less": {"https://one", "llm_proxy.clients.less.token_file", "/less", ""},
		"own":  {"https://two", "llm_proxy.clients.own.token_file", "/h/own", "x-api-key"},
	} {
		a, err := s.Access(id)
		if got := [4]string{a.Upstream, a.Key, a.Path, a.Auth}; err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", id, got, err, want)
		}
	}
	if all := s.TokenFiles(); !slices.Equal(all, []string{"/claude", "/less", "/h/own"}) {
		t.Errorf("denied: %v", all)
	}
}

// TestTemplateShown: a value of a variable may be a secret.
func TestTemplateShown(t *testing.T) {
	got := Template{ID: "a", Command: "c", Args: []string{"-x", "y"}, Env: map[string]string{"B": "sk-ant-x", "A": ""}, Sandbox: &no, ModelKey: true, Icon: nil}.Shown()
	want := []Key{{"command", "c"}, {"args", "-x, y"}, {"env", "A, B"}, {"sandbox", "false"}, {"model_key", "true"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSettingsErrorsHoldNoValue(t *testing.T) {
	const secret = "sk-ant-Marker"
	for _, text := range []string{
		`{"claude_token_file": {"` + secret + `": 1}}`, `{"claude_token_file": ["` + secret + `"]}`, `{"x": "` + secret, `{"x": ` + secret + `}`, secret,
		`{"terminal_templates": [{"id": "` + secret + ` "}]}`, `{"terminal_templates": [{"id": "a", "env": "` + secret + `"}]}`,
		`{"terminal_templates": [{"id": "a", "network": "` + secret + `"}]}`, `{"terminal_templates": "` + secret + `"}`,
		`{"llm_proxy": {"listen": "` + secret + `"}}`, `{"llm_proxy": {"upstream": "https://` + secret + `@h"}}`,
		`{"llm_proxy": {"allowed_client_ids": ["` + secret + `"]}}`, `{"llm_proxy": "` + secret + `"}`, `{} ` + secret,
	} {
		_, warnings, err := parse("s.json", []byte(text))
		said := errorText(err) + strings.Join(warnings, "")
		if said == "" || strings.Contains(said, "sk-") || strings.Contains(said, "Marker") {
			t.Errorf("%s: %s", text, said)
		}
	}
}

func TestLoadSettings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + "/settings.json"
	load := func(name, text string, mode uint32, named bool, want string) {
		t.Helper()
		os.RemoveAll(path)
		if text != "absent" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unix.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		s, _, err := Load(path, named)
		switch {
		case want == "" && (err != nil || s == nil):
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || s != nil || err.Error() != "settings "+path+": "+want):
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	load("plain", `{}`, 0o644, true, "")
	load("absent", "absent", 0, false, "")
	load("absent but named", "absent", 0, true, "no such file or directory")
	load("largest", `{"x": "`+strings.Repeat("x", maxSettings-9)+`"}`, 0o600, true, "")
	load("too large", `{"x": "`+strings.Repeat("x", maxSettings-8)+`"}`, 0o600, true, "larger than 1048576 bytes")
	load("group can write", `{}`, 0o660, false, "other users can write it (mode 0660): chmod go-w "+path)
	load("all can write", `{}`, 0o602, false, "other users can write it (mode 0602): chmod go-w "+path)

	refused := func(name, want string) {
		t.Helper()
		if s, _, err := Load(path, false); s != nil || err == nil || err.Error() != "settings "+path+": "+want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	load("plain again", `{}`, 0o600, true, "")
	if err := unix.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("folder that all can write", "other users can write the folder "+dir+" (mode 0777): chmod go-w "+dir)
	unix.Chmod(dir, 0o755)
	os.Remove(path)
	os.Mkdir(path, 0o755)
	refused("folder", "not a regular file")
	os.Remove(path)
	unix.Mkfifo(path, 0o600)
	refused("FIFO", "not a regular file")

	os.Remove(path)
	os.WriteFile(path, []byte(`{"claude_token_file": 1}`), 0o600)
	if _, _, err := Load(path, false); err == nil || err.Error() != path+":1:23: key claude_token_file: want a string, not a number" {
		t.Errorf("got %v", err)
	}
}

// TestSettingsMemory: what the content means is remembered, never that the file is the same: here it changes without
// a change of size or times.
func TestSettingsMemory(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o755) // whatever the umask
	path := filepath.Join(dir, "settings.json")
	var m Memory
	then := time.Now().Add(-time.Hour)
	for _, c := range []struct{ content, want string }{
		{`{"claude_token_file": "/a"}`, "/a"}, {`{"claude_token_file": "/b"}`, "/b"}, {`{"claude_token_file": "/c",`, ""},
		{`{"claude_token_file": "/b"}`, "/b"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := m.Load(path, true)
			if (err == nil) != (c.want != "") || err == nil && s.ClaudeTokenFile != c.want {
				t.Errorf("%s: %+v %v", c.content, s, err)
			}
		}
	}
	if first, _ := m.Load(path, true); first == nil || first != m.parsed {
		t.Error("read anew, and understood anew")
	}
	os.Remove(path)
	if _, err := m.Load(path, true); err == nil {
		t.Error("a file that was named is gone, and nobody minds")
	}
	if s, err := m.Load(path, false); err != nil || s.ClaudeTokenFile != "" {
		t.Errorf("absent: %+v %v", s, err)
	}
}
