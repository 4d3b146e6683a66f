package settings

import (
	"reflect"
	"slices"
	"testing"

	"hostshim/host/wire"
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
		{plain, "mine", Template{}, `unknown template "mine", known are: claude-brokered, claude-code, shell`},
		{mine, "Mine\n", Template{}, `unknown template "Mine\n", known are: claude-brokered, claude-code, mine, shell: the nearest is "mine"`},
		{plain, "", Template{}, `unknown template "", known are: claude-brokered, claude-code, shell`},
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
