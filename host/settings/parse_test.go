package settings

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func inTemplate(member string) string {
	return `{"terminal_templates": [{"id": "a"}, {"id": "b", ` + member + `}]}`
}

func inProxy(member string) string { return `{"llm_proxy": {` + member + `}}` }

func elements(n int) string { return strings.Repeat("[0]", n) }

// refusals are settings that do not load, with what is said of them after the file's name and a colon.
var refusals = []struct{ name, text, want string }{
	{"nothing", "", `1:1: not JSON`},
	{"white space", " \n ", `2:1: not JSON`},
	{"byte order mark", "\ufeff{}", `1:1: starts with a byte order mark`},
	{"UTF-16", "\xff\xfe{\x00", `1:1: not UTF-8`},
	{"Latin-1", "{\n\"é\": \"\xe9\"}", `2:7: not UTF-8`},
	{"list", `[]`, `1:1: want an object, not a list`},
	{"text", `"x"`, `1:1: want an object, not a string`},
	{"word", `sk-ant`, `1:1: not JSON`},
	{"cut off", `{"claude_token_file": "/secret`, `1:30: not JSON`},
	{"no comma", "{\n  \"claude_token_file\": \"/t\"\n  \"x\": 1}", `3:3: not JSON`},
	{"comma at the end", `{"claude_token_file": "/t",}`, `1:28: not JSON`},
	{"single quotes", `{'claude_token_file': "/t"}`, `1:2: not JSON`},
	{"comment", "{\n// why\n}", `2:1: not JSON`},
	{"bad escape", `{"terminal_templates": [{"name": "\x"}]}`, `1:36: not JSON`},
	{"control character", "{\"claude_token_file\": \"a\nb\"}", `1:25: not JSON`},
	{"wrong bracket", `{"terminal_templates": [}`, `1:25: not JSON`},
	{"bad number", inProxy(`"idle_timeout_seconds": -x`), `1:41: not JSON`},
	{"two documents", "{}\n{}", `2:1: more after the end`},
	{"trailing word", `{} x`, `1:4: more after the end`},
	{"trailing comma", `{},`, `1:3: more after the end`},
	{"duplicate", "{\"claude_token_file\": \"/a\",\n \"claude_token_file\": \"/a\"}", `2:2: key claude_token_file: given twice`},
	{"duplicate by escape", `{"claude_token_file": "/a", "claude\u005ftoken_file": "/b"}`, `1:29: key claude_token_file: given twice`},
	{"duplicate null", `{"claude_token_file": null, "claude_token_file": "/b"}`, `1:29: key claude_token_file: given twice`},
	{"duplicate in a template", inTemplate(`"id": "c"`), `1:50: key terminal_templates[1].id: given twice`},
	{"duplicate variable", inTemplate(`"env": {"A": "", "A": ""}`), `1:67: key terminal_templates[1].env.A: given twice`},
	{"duplicate client", inProxy(`"clients": {"a": {}, "a": {}}`), `1:37: key llm_proxy.clients.a: given twice`},
	{"duplicate unknown", `{"x": 1, "x": 1}`, `1:10: key x: given twice`},
	{"duplicate deep below an unknown", `{"x": [0, {"y z": {"q": 1, "q": 2}}]}`, `1:28: key x[1]."y z".q: given twice`},
	{"too deep", `{"x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `1:106: key x` + elements(99) + `: nested more than 100 deep`},
	{"far too deep", strings.Repeat(`[`, 10001) + strings.Repeat(`]`, 10001), `1:10001: not JSON`},
	{"token file a number", `{"claude_token_file": 1}`, `1:23: key claude_token_file: want a string, not a number`},
	{"token file a list", `{"claude_token_file": ["/t"]}`, `1:23: key claude_token_file: want a string, not a list`},
	{"templates an object", `{"terminal_templates": {}}`, `1:24: key terminal_templates: want a list, not an object`},
	{"sandbox misspelled", inTemplate(`"sandbox": tru`), `1:64: not JSON`},
	{"proxy a flag", `{"llm_proxy": true}`, `1:15: key llm_proxy: want an object, not true or false`},
	{"client id in a list", inProxy(`"allowed_client_ids": ["a", "B"]`),
		`1:44: key llm_proxy.allowed_client_ids[1]: want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`},
	{"client's unknown key", inProxy(`"clients": {"a": {"upsteam": 1}}`), `1:34: key llm_proxy.clients.a.upsteam: unknown, the nearest known key is "upstream"`},
	{"client's upstream", inProxy(`"clients": {"a": {"token_file": "/t", "upstream": "http://h"}}`),
		`1:66: key llm_proxy.clients.a.upstream: want an https URL, or http to a loopback host, without user, query and fragment`},
	{"client's upstream with Claude's token", inProxy(`"clients": {"a": {"upstream": "https://h"}}`),
		`1:33: key llm_proxy.clients.a: an upstream of its own needs a token_file of its own: claude_token_file goes to llm_proxy.upstream alone`},
	{"client's auth", inProxy(`"clients": {"a": {"auth": "Bearer"}}`), `1:42: key llm_proxy.clients.a.auth: want bearer, x-api-key, x-goog-api-key or basic:USER`},
	{"client's path", inProxy(`"clients": {"a": {"paths": ["/v1", "v1"]}}`),
		`1:51: key llm_proxy.clients.a.paths[1]: want a decoded path that starts with /, as /v1/messages, or the beginning of one, as /v1/*`},
	{"client's method", inProxy(`"clients": {"a": {"methods": ["get"]}}`), `1:46: key llm_proxy.clients.a.methods[0]: want one of: DELETE, GET, HEAD, PATCH, POST, PUT`},
	{"client's rate", inProxy(`"clients": {"a": {"requests_per_minute": 0}}`), `1:57: key llm_proxy.clients.a.requests_per_minute: want a whole number from 1 to 1000000`},
	{"client id as a key", inProxy(`"clients": {"a/b": {}}`),
		`1:28: key llm_proxy.clients."a/b": want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`},
	{"client a string", inProxy(`"clients": {"a": "/t"}`), `1:33: key llm_proxy.clients.a: want an object, not a string`},
	{"unknown key of the proxy", inProxy(`"listne": "127.0.0.1:0"`), `1:16: key llm_proxy.listne: unknown, the nearest known key is "listen"`},
	{"unknown key of a client", inProxy(`"clients": {"codex": {"token_file": "/t", "token-file2": null}}`),
		`1:58: key llm_proxy.clients.codex.token-file2: unknown, the nearest known key is "token_file"`},
	{"ours without its first word", `{"Templates": []}`, `1:2: key Templates: unknown, the nearest known key is "terminal_templates"`},
	{"ours without its first word, with a hyphen", `{"token-file": "/t"}`, `1:2: key token-file: unknown, the nearest known key is "claude_token_file"`},
	{"nearly ours", `{"claude_token_fil": "/t"}`, `1:2: key claude_token_fil: unknown, the nearest known key is "claude_token_file"`},
	{"nearly ours, in another case", `{"LLM-Proxy": null}`, `1:2: key LLM-Proxy: unknown, the nearest known key is "llm_proxy"`},
	{"nearly ours, turned", `{"terminal_tempaltes": []}`, `1:2: key terminal_tempaltes: unknown, the nearest known key is "terminal_templates"`},
	{"client's file a list", inProxy(`"clients": {"a": {"token_file": []}}`), `1:48: key llm_proxy.clients.a.token_file: want a string, not a list`},
}

const wantHost = "want a host's name, as example.com, *.example.com or example.com:8443, or an address: no scheme or path, " +
	"no *. before a public suffix as com, a port from 1 to 65535, 127.0.0.1 instead of localhost"

// wrongTemplates are settings in which one template, b where it has an id, is left out, with what is said of it.
var wrongTemplates = []struct{ name, text, want string }{
	{"template null", `{"terminal_templates": [null]}`, `1:25: key terminal_templates[0]: want an object, not null`},
	{"template a string", `{"terminal_templates": ["a"]}`, `1:25: key terminal_templates[0]: want an object, not a string`},
	{"no id", "{\"terminal_templates\": [\n{\"id\": \"a\"},\n  {\"name\": \"b\"}]}", `3:3: key terminal_templates[1].id: missing`},
	{"id null", `{"terminal_templates": [{"id": null}]}`, `1:25: key terminal_templates[0].id: missing`},
	{"same id", `{"terminal_templates": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}`, `1:51: key terminal_templates[2].id: another template has the same, so both are wrong`},
	{"sandbox a string", inTemplate(`"sandbox": "no"`), `1:61: key terminal_templates[1].sandbox: want true or false, not a string`},
	{"args a string", inTemplate(`"args": "-x"`), `1:58: key terminal_templates[1].args: want a list, not a string`},
	{"arg a number", inTemplate(`"args": ["x", 1]`), `1:64: key terminal_templates[1].args[1]: want a string, not a number`},
	{"read null", inTemplate(`"read": [null]`), `1:59: key terminal_templates[1].read[0]: want a string, not null`},
	{"deny a flag", inTemplate(`"deny": [true]`), `1:59: key terminal_templates[1].deny[0]: want a string, not true or false`},
	{"env a list", inTemplate(`"env": ["A=1"]`), `1:57: key terminal_templates[1].env: want an object, not a list`},
	{"variable a number", inTemplate(`"env": {"A": 1}`), `1:63: key terminal_templates[1].env.A: want a string, not a number`},
	{"network", inTemplate(`"network": "closed"`), `1:61: key terminal_templates[1].network: want one of: open, model, none`},
	{"network empty", inTemplate(`"network": ""`), `1:61: key terminal_templates[1].network: want one of: open, model, none`},
	{"every host", inTemplate(`"network": "model", "hosts": ["a.test", "*"]`), `1:90: key terminal_templates[1].hosts[1]: ` + wantHost},
	{"host with a scheme", inTemplate(`"network": "none", "hosts": ["https://a.test"]`), `1:79: key terminal_templates[1].hosts[0]: ` + wantHost},
	{"host empty", inTemplate(`"network": "none", "hosts": [""]`), `1:79: key terminal_templates[1].hosts[0]: ` + wantHost},
	{"hosts a string", inTemplate(`"network": "none", "hosts": "a.test"`), `1:78: key terminal_templates[1].hosts: want a list, not a string`},
	{"hosts of an open network", inTemplate(`"hosts": ["a.test"]`),
		`1:38: key terminal_templates[1]: hosts need "network": "model" or "none": an open network reaches every host`},
	{"pairing without the model", inTemplate(`"network": "none", "credential": "pairing"`),
		`1:38: key terminal_templates[1]: a pairing is for the model, which "network": "none" does not reach: use "model", or another credential`},
	{"credential", inTemplate(`"credential": "Token"`), `1:64: key terminal_templates[1].credential: want one of: auto, token, pairing, none`},
	{"mistyped key", inTemplate(`"netwrok": "model"`), `1:50: key terminal_templates[1].netwrok: unknown, the nearest known key is "network"`},
	{"mistyped deny", inTemplate(`"denny": ["~/x"]`), `1:50: key terminal_templates[1].denny: unknown, the nearest known key is "deny"`},
	{"key in another case", inTemplate(`"Deny": null`), `1:50: key terminal_templates[1].Deny: unknown, the nearest known key is "deny"`},
	{"idle timeout", inTemplate(`"idleTimeout": -1`), `1:65: key terminal_templates[1].idleTimeout: want a whole number from 0 to 5256000`},
	{"relay's token", inTemplate(`"args": ["${RELAY_TOKEN}"]`), `1:38: key terminal_templates[1]: ${RELAY_TOKEN} is not given to sessions`},
	{"relay's token in env", inTemplate(`"env": {"A": "x${RELAY_TOKEN}"}`), `1:38: key terminal_templates[1]: ${RELAY_TOKEN} is not given to sessions`},
	{"relay's name passed through", inTemplate(`"env_passthrough": ["RELAY_X"]`),
		`1:38: key terminal_templates[1]: env_passthrough: "RELAY_X": no name that starts with RELAY_ is given to sessions`},
	{"model key unasked", inTemplate(`"env": {"A": "${MODEL_KEY}"}`), `1:38: key terminal_templates[1]: ${MODEL_KEY} needs "model_key": true`},
	{"model key in arguments", inTemplate(`"model_key": true, "args": ["${MODEL_KEY}"]`),
		`1:38: key terminal_templates[1]: ${MODEL_KEY} and ${MODEL_ENDPOINT_URL} stand in env only: every user can see arguments`},
	{"pairing in arguments", inTemplate(`"args": ["x", "-k=${PAIRING}"]`),
		`1:38: key terminal_templates[1]: ${PAIRING} stands in env only, as every user can see arguments: let the program read it from a variable`},
	{"base URL in the command", inTemplate(`"command": "${BASE_URL}"`), `1:38: key terminal_templates[1]: ${BASE_URL} stands in env and args only`},
	{"client of a template", inTemplate(`"client": "A"`),
		`1:60: key terminal_templates[1].client: want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`},
	{"endpoint in the command", inTemplate(`"command": "${MODEL_ENDPOINT_URL}"`),
		`1:38: key terminal_templates[1]: ${MODEL_KEY} and ${MODEL_ENDPOINT_URL} stand in env only: every user can see arguments`},
}

func TestH12WrongTemplates(t *testing.T) {
	for _, c := range wrongTemplates {
		s, warnings, err := parse("s.json", []byte(c.text))
		if err != nil || !slices.Equal(warnings, []string{"s.json:" + c.want + "; the template is left out"}) {
			t.Errorf("%s: %v, %q, want s.json:%s", c.name, err, warnings, c.want)
			continue
		}
		for id, wrong := range map[string]bool{"a": c.name == "same id", "b": strings.Contains(c.want, "[1]") && c.name != "no id"} {
			if _, err := s.Template(id); wrong && (err == nil || err.Error() != `template "`+id+`" is wrong: s.json:`+c.want) {
				t.Errorf("%s: template %q: %v", c.name, id, err)
			} else if !wrong && strings.Contains(c.text, `"id": "`+id) && err != nil {
				t.Errorf("%s: template %q, which is right: %v", c.name, id, err)
			}
		}
	}
	// The built-in template does not stand in for one that is wrong: it may grant other things.
	s, _, _ := parse("s.json", []byte(`{"terminal_templates": [{"id": "shell", "denny": []}]}`))
	if _, err := s.Template("shell"); err == nil {
		t.Error("the built-in shell stands in for a wrong one")
	}
}

func TestH12Refusals(t *testing.T) {
	for _, c := range refusals {
		s, warnings, err := parse("s.json", []byte(c.text))
		if s != nil || warnings != nil || err == nil || err.Error() != "s.json:"+c.want {
			t.Errorf("%s: got %v, want s.json:%s", c.name, err, c.want)
		}
	}
}

var position = regexp.MustCompile(`^s\.json:[1-9][0-9]*:[1-9][0-9]*: `)

func TestA01RequestPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/*": true, "*": false, "": false, "/v1/messages": true, "/v1/models/gemini-*": true, "/a b/é": true, "/a/*/b": false, "/a**": false,
		"/a//b": false, "/a/./b": false, "/a/.": false, "/a/..": false, "/../a": false, "/a/...": true, "/a%2fb": false, "/a?b": false, "/a#b": false, `/a\b`: false,
		"/a;b": false, "/a\nb": false, "v1": false, "/" + strings.Repeat("a", 1023): true, "/" + strings.Repeat("a", 1024): false,
	} {
		if got := requestPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"claude_token_file": "/t", "x": [1, {"a": "\u00e9"}]}`, `{"a": 1, "a": 2}`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `{"a":: 1}`, `{,}`, `{"x":[,1]}`, "\ufeff", "{\"\xff\":1}",
		`{"terminal_templates": [{"id": "a", "args": [""], "env": {"A": ""}, "sandbox": true, "network": "open", "credential": "auto"}]}`,
		`{"llm_proxy": {"listen": "127.0.0.1:0", "upstream": "https://h", "idle_timeout_seconds": 5, "clients": {"a": {"token_file": "t"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := parse("s.json", data)
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
			if !validTemplateID(tpl.ID) || ids[tpl.ID] || tpl.Agent != nil {
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
