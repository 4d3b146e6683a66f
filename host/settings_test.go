package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// yes and no are what "sandbox" may be.
var yes, no = true, false

func TestSettings(t *testing.T) {
	defaults := ProxySettings{Listen: "127.0.0.1:0", Upstream: "https://api.anthropic.com", IdleTimeoutSeconds: 1800}
	proxy := func(change func(*ProxySettings)) Settings {
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
			"deny": [], "network": "model", "credential": "pairing", "other": 1}]}`,
			Settings{Templates: []Template{{ID: "A.b_c-9", Name: "N é", Command: "c", Args: []string{"-x", ""},
				Env: map[string]string{"A": "1", "B": "2"}, EnvPassthrough: []string{"X_TOKEN"}, Sandbox: &no, Read: []string{"~/r"},
				ReadWrite: []string{"/w"}, Deny: []string{}, Network: "model", Credential: "pairing"}}}},
		{"template with nulls", `{"terminal_templates": [{"id": "a", "name": null, "args": null, "env": null, "sandbox": null, "network": null, "credential": null}]}`,
			Settings{Templates: []Template{{ID: "a"}}}},
		{"auto is what the launch says", `{"terminal_templates": [{"id": "a", "credential": "auto", "network": "open", "sandbox": true}, {"id": "b", "credential": "none"}, {"id": "c", "credential": "token"}]}`,
			Settings{Templates: []Template{{ID: "a", Network: "open", Sandbox: &yes}, {ID: "b", Credential: "none"}, {ID: "c", Credential: "token"}}}},
		{"proxy", `{"llm_proxy": {}}`, Settings{LLMProxy: &defaults}},
		{"proxy with nulls", `{"llm_proxy": {"listen": null, "upstream": null, "allowed_client_ids": null, "idle_timeout_seconds": null, "clients": null}}`,
			Settings{LLMProxy: &defaults}},
		{"nobody allowed", `{"llm_proxy": {"allowed_client_ids": []}}`, proxy(func(p *ProxySettings) { p.AllowedClientIDs = []string{} })},
		{"proxy with all", `{"llm_proxy": {"listen": "[::1]:8080", "upstream": "http://localhost:1/base", "allowed_client_ids": ["a", "b.c"],
			"subscription_client_ids": ["0"], "idle_timeout_seconds": 86400, "clients": {"a": {"token_file": "~/t"}, "b.c": {}}}}`,
			Settings{LLMProxy: &ProxySettings{Listen: "[::1]:8080", Upstream: "http://localhost:1/base", AllowedClientIDs: []string{"a", "b.c"},
				SubscriptionClientIDs: []string{"0"}, IdleTimeoutSeconds: 86400, Clients: map[string]ClientSettings{"a": {"~/t"}, "b.c": {}}}}},
	} {
		got, warnings, err := parseSettings("s.json", []byte(c.text))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %q", c.name, err, warnings)
		} else if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, *got, c.want)
		}
	}
}

func TestH12Refusals(t *testing.T) {
	template := func(member string) string {
		return `{"terminal_templates": [{"id": "a"}, {"id": "b", ` + member + `}]}`
	}
	proxy := func(member string) string { return `{"llm_proxy": {` + member + `}}` }
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", `1:1: not JSON`},
		{"white space", " \n ", `2:1: not JSON`},
		{"byte order mark", "\ufeff{}", `1:1: starts with a byte order mark`},
		{"UTF-16", "\xff\xfe{\x00", `1:1: not UTF-8`},
		{"Latin-1", "{\n\"é\": \"\xe9\"}", `2:7: not UTF-8`},
		{"list", `[]`, `1:1: want an object, not a list`},
		{"text", `"x"`, `1:1: want an object, not a string`},
		{"word", `sk-ant`, `1:1: not JSON`},
		{"cut off", `{"claude_token_file": "/secret`, `1:30: key claude_token_file: not JSON`},
		{"no comma", "{\n  \"claude_token_file\": \"/t\"\n  \"x\": 1}", `3:3: not JSON`},
		{"comma at the end", `{"claude_token_file": "/t",}`, `1:28: not JSON`},
		{"single quotes", `{'claude_token_file': "/t"}`, `1:2: not JSON`},
		{"comment", "{\n// why\n}", `2:1: not JSON`},
		{"bad escape", `{"terminal_templates": [{"name": "\x"}]}`, `1:36: key terminal_templates[0].name: not JSON`},
		{"control character", "{\"claude_token_file\": \"a\nb\"}", `1:25: key claude_token_file: not JSON`},
		{"wrong bracket", `{"terminal_templates": [}`, `1:25: key terminal_templates: not JSON`},
		{"bad number", proxy(`"idle_timeout_seconds": -x`), `1:41: key llm_proxy.idle_timeout_seconds: not JSON`},
		{"two documents", "{}\n{}", `2:1: more after the end of the settings`},
		{"trailing word", `{} x`, `1:4: more after the end of the settings`},
		{"trailing comma", `{},`, `1:3: not JSON`},
		{"duplicate", "{\"claude_token_file\": \"/a\",\n \"claude_token_file\": \"/a\"}", `2:2: key claude_token_file: given twice`},
		{"duplicate by escape", `{"claude_token_file": "/a", "claude\u005ftoken_file": "/b"}`, `1:29: key claude_token_file: given twice`},
		{"duplicate null", `{"claude_token_file": null, "claude_token_file": "/b"}`, `1:29: key claude_token_file: given twice`},
		{"duplicate in a template", template(`"id": "c"`), `1:50: key terminal_templates[1].id: given twice`},
		{"duplicate variable", template(`"env": {"A": "", "A": ""}`), `1:67: key terminal_templates[1].env.A: given twice`},
		{"duplicate client", proxy(`"clients": {"a": {}, "a": {}}`), `1:37: key llm_proxy.clients.a: given twice`},
		{"duplicate unknown", `{"x": 1, "x": 1}`, `1:10: key x: given twice`},
		{"duplicate deep below an unknown", `{"x": [0, {"y z": {"q": 1, "q": 2}}]}`, `1:28: key x[1]."y z".q: given twice`},
		{"too deep", `{"x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `1:106: key x` + elements(99) + `: nested more than 100 deep`},
		{"far too deep", `{"x": ` + strings.Repeat(`{"x":`, 100000), `1:502: key x` + strings.Repeat(".x", 99) + `: nested more than 100 deep`},
		{"token file a number", `{"claude_token_file": 1}`, `1:23: key claude_token_file: want a string, not a number`},
		{"token file a list", `{"claude_token_file": ["/t"]}`, `1:23: key claude_token_file: want a string, not a list`},
		{"templates an object", `{"terminal_templates": {}}`, `1:24: key terminal_templates: want a list, not an object`},
		{"template null", `{"terminal_templates": [null]}`, `1:25: key terminal_templates[0]: want an object, not null`},
		{"template a string", `{"terminal_templates": ["a"]}`, `1:25: key terminal_templates[0]: want an object, not a string`},
		{"no id", "{\"terminal_templates\": [\n{\"id\": \"a\"},\n  {\"name\": \"b\"}]}", `3:3: key terminal_templates[1].id: missing`},
		{"id null", `{"terminal_templates": [{"id": null}]}`, `1:25: key terminal_templates[0].id: missing`},
		{"same id", `{"terminal_templates": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}`, `1:51: key terminal_templates[2].id: an earlier template has the same`},
		{"sandbox a string", template(`"sandbox": "no"`), `1:61: key terminal_templates[1].sandbox: want true or false, not a string`},
		{"sandbox misspelled", template(`"sandbox": tru`), `1:64: key terminal_templates[1].sandbox: not JSON`},
		{"args a string", template(`"args": "-x"`), `1:58: key terminal_templates[1].args: want a list, not a string`},
		{"arg a number", template(`"args": ["x", 1]`), `1:64: key terminal_templates[1].args[1]: want a string, not a number`},
		{"read null", template(`"read": [null]`), `1:59: key terminal_templates[1].read[0]: want a string, not null`},
		{"deny a flag", template(`"deny": [true]`), `1:59: key terminal_templates[1].deny[0]: want a string, not true or false`},
		{"env a list", template(`"env": ["A=1"]`), `1:57: key terminal_templates[1].env: want an object, not a list`},
		{"variable a number", template(`"env": {"A": 1}`), `1:63: key terminal_templates[1].env.A: want a string, not a number`},
		{"network", template(`"network": "none"`), `1:61: key terminal_templates[1].network: want one of: open, model`},
		{"network empty", template(`"network": ""`), `1:61: key terminal_templates[1].network: want one of: open, model`},
		{"credential", template(`"credential": "Token"`), `1:64: key terminal_templates[1].credential: want one of: auto, token, pairing, none`},
		{"proxy a flag", `{"llm_proxy": true}`, `1:15: key llm_proxy: want an object, not true or false`},
		{"client id in a list", proxy(`"allowed_client_ids": ["a", "B"]`),
			`1:44: key llm_proxy.allowed_client_ids[1]: want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`},
		{"client id as a key", proxy(`"clients": {"a/b": {}}`),
			`1:28: key llm_proxy.clients."a/b": want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`},
		{"client a string", proxy(`"clients": {"a": "/t"}`), `1:33: key llm_proxy.clients.a: want an object, not a string`},
		{"client's file a list", proxy(`"clients": {"a": {"token_file": []}}`), `1:48: key llm_proxy.clients.a.token_file: want a string, not a list`},
	} {
		s, warnings, err := parseSettings("s.json", []byte(c.text))
		if s != nil || warnings != nil || err == nil || err.Error() != "s.json:"+c.want {
			t.Errorf("%s: got %v, want s.json:%s", c.name, err, c.want)
		}
	}
}

func elements(n int) string { return strings.Repeat("[0]", n) }

// verdicts tries values of one member of llm_proxy.
func verdicts(t *testing.T, member, message string, values map[string]bool) {
	t.Helper()
	for value, good := range values {
		text, err := json.Marshal(map[string]any{"llm_proxy": map[string]any{member: json.RawMessage(value)}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = parseSettings("s.json", text)
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

func TestH12LetterCaseIsWarnedOf(t *testing.T) {
	text := `{
		"Claude_Token_File": "/wrong",
		"claude_token_file": "/right",
		"LLM_PROXY": {"listen": 1},
		"terminal_templates": [{"id": "a", "Deny": 5, "ID": "b", "other": 1}],
		"other": {"claude_Token_file": ""}
	}`
	s, warnings, err := parseSettings("s.json", []byte(text))
	want := []string{
		`s.json:2:3: key Claude_Token_File: ignored: it is spelled "claude_token_file"`,
		`s.json:4:3: key LLM_PROXY: ignored: it is spelled "llm_proxy"`,
		`s.json:5:38: key terminal_templates[0].Deny: ignored: it is spelled "deny"`,
		`s.json:5:49: key terminal_templates[0].ID: ignored: it is spelled "id"`,
	}
	if err != nil || !reflect.DeepEqual(warnings, want) {
		t.Errorf("%v, warnings %q, want %q", err, warnings, want)
	}
	if s.ClaudeTokenFile != "/right" || s.LLMProxy != nil || s.Templates[0].ID != "a" || s.Templates[0].Deny != nil {
		t.Errorf("read %+v", s)
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
		_, _, err := parseSettings("s.json", []byte(text))
		if err == nil || strings.Contains(err.Error(), "sk-") || strings.Contains(err.Error(), "Marker") {
			t.Errorf("%s: %v", text, err)
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
		s, _, err := LoadSettings(path, named)
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
	load("group can write", `{}`, 0o660, false, "other users can write it (mode 0660)")
	load("all can write", `{}`, 0o602, false, "other users can write it (mode 0602)")

	refused := func(name, want string) {
		t.Helper()
		if s, _, err := LoadSettings(path, false); s != nil || err == nil || err.Error() != "settings "+path+": "+want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	load("plain again", `{}`, 0o600, true, "")
	if err := unix.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("folder that all can write", "other users can write the folder "+dir+" (mode 0777)")
	unix.Chmod(dir, 0o755)
	os.Remove(path)
	os.Mkdir(path, 0o755)
	refused("folder", "not a regular file")
	os.Remove(path)
	unix.Mkfifo(path, 0o600)
	refused("FIFO", "not a regular file")

	os.Remove(path)
	os.WriteFile(path, []byte(`{"claude_token_file": 1}`), 0o600)
	if _, _, err := LoadSettings(path, false); err == nil || err.Error() != path+":1:23: key claude_token_file: want a string, not a number" {
		t.Errorf("got %v", err)
	}
}

var position = regexp.MustCompile(`^s\.json:[1-9][0-9]*:[1-9][0-9]*: `)

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"claude_token_file": "/t", "x": [1, {"a": "\u00e9"}]}`, `{"a": 1, "a": 2}`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `{"a":: 1}`, `{,}`, `{"x":[,1]}`, "\ufeff", "{\"\xff\":1}",
		`{"terminal_templates": [{"id": "a", "args": [""], "env": {"A": ""}, "sandbox": true, "network": "open", "credential": "auto"}]}`,
		`{"llm_proxy": {"listen": "127.0.0.1:0", "upstream": "https://h", "idle_timeout_seconds": 5, "clients": {"a": {"token_file": "t"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := parseSettings("s.json", data)
		if err != nil {
			if s != nil || !position.MatchString(err.Error()) {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		if !utf8.Valid(data) || !json.Valid(data) {
			t.Errorf("%q was read", data)
		}
		ids := make(map[string]bool)
		for _, tpl := range s.Templates {
			if !validTemplateID(tpl.ID) || ids[tpl.ID] || tpl.ownConfig {
				t.Errorf("%q: template %q", data, tpl.ID)
			}
			ids[tpl.ID] = true
		}
		if p := s.LLMProxy; p != nil && (!loopbackAddress(p.Listen) || !upstreamURL(p.Upstream) || p.IdleTimeoutSeconds < 1 || p.IdleTimeoutSeconds > 86400) {
			t.Errorf("%q: proxy %+v", data, p)
		}
		// The standard library's reading agrees where there is one key and one spelling.
		var std struct {
			File *string `json:"claude_token_file"`
		}
		if len(s.Templates) == 0 && s.LLMProxy == nil && json.Unmarshal(data, &std) == nil && std.File != nil && s.ClaudeTokenFile != "" && *std.File != s.ClaudeTokenFile &&
			!regexp.MustCompile(`(?i)claude_token_file.*claude_token_file`).Match(data) {
			t.Errorf("%q: %q, the standard library reads %q", data, s.ClaudeTokenFile, *std.File)
		}
	})
}
