package settings

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostshim/host/credential"
	"hostshim/host/wire"
	"hostshim/shim"
)

func TestX05Template(t *testing.T) {
	t.Setenv("SHELL", "/opt/fish")
	t.Setenv("XDG_CONFIG_HOME", "/etc/xdg")
	t.Setenv("PYENV_ROOT", "/home/ann/py")
	reads := readsIfThere()
	for _, path := range []string{"~/.gitconfig", "/etc/xdg/git/config", "/etc/xdg/git/ignore", "/etc/xdg/git/attributes", "/home/ann/py/shims/"} {
		if !slices.Contains(reads, path) {
			t.Errorf("built-in templates do not read %q: %q", path, reads)
		}
	}
	plain := &Settings{}
	mine := &Settings{Templates: []Template{{ID: "mine", Command: "m", Sandbox: &no}, {ID: "claude-code", Command: "other"}}}
	for _, c := range []struct {
		settings *Settings
		id       string
		want     Template
		err      string
	}{
		{plain, "claude-code", Template{ID: "claude-code", Name: "Claude Code", Command: "claude", Agent: &Claude, ReadIfThere: reads}, ""},
		{plain, "shell", Template{ID: "shell", Name: "Shell", Command: "/opt/fish", Credential: wire.CredentialNone, ReadIfThere: reads}, ""},
		{mine, "claude-code", Template{ID: "claude-code", Command: "other"}, ""},
		{mine, "mine", mine.Templates[0], ""},
		{plain, "mine", Template{}, `unknown template "mine", known are: claude-brokered, claude-code, codex, copilot, gemini, opencode, qwen, shell`},
		{mine, "Mine\n", Template{}, `unknown template "Mine\n", known are: claude-brokered, claude-code, codex, copilot, gemini, mine, opencode, qwen, shell: the nearest is "mine"`},
		{plain, "", Template{}, `unknown template "", known are: claude-brokered, claude-code, codex, copilot, gemini, opencode, qwen, shell`},
		{plain, "mine", Template{}, `unknown template "mine", known are: claude-brokered, claude-code, codex, copilot, gemini, opencode, qwen, shell`},
		{plain, "", Template{}, `unknown template "", known are: claude-brokered, claude-code, codex, copilot, gemini, opencode, qwen, shell`},
	} {
		got, err := c.settings.Template(c.id)
		if text := errorText(err); !reflect.DeepEqual(got, c.want) || text != c.err {
			t.Errorf("%q: %+v, %s; want %+v, %s", c.id, got, text, c.want, c.err)
		}
	}
	if len(mine.Templates) != 2 {
		t.Error("looking up changed the settings")
	}
}

func TestA03Templates(t *testing.T) {
	for id, upstream := range map[string]string{
		"codex": "https://api.openai.com bearer", "opencode": "https://api.openai.com bearer", "copilot": "https://api.openai.com bearer",
		"gemini": "https://generativelanguage.googleapis.com x-goog-api-key",
		"qwen":   "https://dashscope.aliyuncs.com/compatible-mode bearer",
	} {
		template, err := (&Settings{}).Template(id)
		if err != nil || template.Network != shim.NetworkModel || template.Credential != wire.CredentialPairing || template.Agent.Folder != id {
			t.Errorf("%s: %+v, %v", id, template, err)
		}
		if err := template.checkMarks(); err != nil || !template.Agent.Client.known() {
			t.Errorf("%s: %v, %+v", id, err, template.Agent.Client)
		}
		// A key file is all that it needs; Claude's token never stands in, whatever llm_proxy.upstream says.
		key := Client{TokenFile: "/k"}
		set := &Settings{ClaudeTokenFile: "/t", LLMProxy: &Proxy{Upstream: "https://gateway", Clients: map[string]Client{id: key}}}
		if a, err := set.Access(id); err != nil || a.Upstream+" "+a.Auth != upstream || a.Path != "/k" {
			t.Errorf("%s: %+v, %v", id, a, err)
		}
		missing := "llm_proxy.clients." + id + ".token_file is not set: name the file with the key for " + strings.Fields(upstream)[0] + " in settings.json"
		if a, err := (&Settings{ClaudeTokenFile: "/t"}).Access(id); errorText(err) != missing || a.Path != "" {
			t.Errorf("%s: %+v, %v", id, a, err)
		}
		// What the settings say wins.
		set.LLMProxy.Clients[id] = Client{TokenFile: "/k", Upstream: "https://other", Auth: "x-api-key"}
		if a, _ := set.Access(id); a.Upstream != "https://other" || a.Auth != "x-api-key" {
			t.Errorf("%s: %+v", id, a)
		}
		// A template of one's own with the id, or the client, sends no key of that client's to Claude's provider; without
		// one it is a template like any other.
		for _, own := range []Template{{ID: id}, {ID: "mine", Client: id}} {
			set.Templates = []Template{own}
			set.LLMProxy.Clients[id] = key
			if a, _ := set.Access(id); a.Upstream+" "+a.Auth != upstream || a.Path != "/k" {
				t.Errorf("%s: %+v", id, a)
			}
			set.LLMProxy.Clients[id] = Client{}
			if a, _ := set.Access(id); a.Upstream != "https://gateway" || a.Auth != "" || a.Path != "/t" {
				t.Errorf("%s: %+v", id, a)
			}
		}
		set.LLMProxy.Clients[id] = key
		set.Templates = nil
		// One that was left out changes nothing: a mistake in it must not send the key to another provider.
		set.leftOut = map[string]error{id: errors.New("wrong")}
		if a, _ := set.Access(id); a.Upstream+" "+a.Auth != upstream {
			t.Errorf("%s: %+v", id, a)
		}
	}
}

// known says whether the settings could say the same.
func (c Client) known() bool { return upstreamURL(c.Upstream) && credential.ValidAuth(c.Auth) }

func TestTemplateIsSandboxedUnlessItSaysNo(t *testing.T) {
	for _, c := range []struct {
		sandbox *bool
		want    bool
	}{{nil, true}, {&yes, true}, {&no, false}} {
		if got := (Template{Sandbox: c.sandbox}).Sandboxed(); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

func TestLoginShell(t *testing.T) {
	for in, want := range map[string]string{"": "/bin/sh", "zsh": "/bin/sh", "./zsh": "/bin/sh", "/bin/zsh": "/bin/zsh"} {
		t.Setenv("SHELL", in)
		if got := loginShell(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
