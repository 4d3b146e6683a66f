package protect

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseConfig(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"plain", "[core]\n\tfsmonitor = ./x\n", "core.fsmonitor=./x"},
		{"one line", "[core] fsmonitor = ./x", "core.fsmonitor=./x"},
		{"letter case", "[CoRe]\nFSMonitor=x\n[Alias \"Up\"]\nA=b\n", "core.fsmonitor=x alias.Up.a=b"},
		{"byte order mark", "\ufeff[a]b=c", "a.b=c"},
		{"key alone", "[a]\nb\nc = \n", "a.b= a.c="},
		{"comments", "# x\n; y\n[a] ; z\nb = c # d\ne = \"f # g\" ; h\n", "a.b=c a.e=f # g"},
		{"blanks", "[a]\n b =  c  d \t \n", "a.b=c  d"},
		{"quoted blanks", "[a]\nb = \" c \"  \n", "a.b= c "},
		{"escapes", `[a]` + "\n" + `b = x\t\"\\\n` + "\n", "a.b=x\t\"\\\n"},
		{"a line that goes on", "[a]\nb = c \\\n d\ne = f\n", "a.b=c  d a.e=f"},
		{"carriage returns", "[a]\r\nb = c\r\nd = e\\\r\nf\r\n", "a.b=c a.d=ef"},
		{"a subsection with everything", `[a "x]\"\\y.z"]` + "\nb=c\n", `a.x]"\y.z.b=c`},
		{"a subsection as it once was", "[a.X]\nb=c\n", "a.x.b=c"},
		{"both", "[a.b \"C\"]\nd=e\n", "a.b.C.d=e"},
		{"no section", "a = b\n", "a=b"},
		{"no name", "[]\na = b\n", "!"},
		{"no end", "[a", "!"},
		{"an open quote", "[a]\nb = \"c\nd = e\n", "!"},
		{"an unknown escape", "[a]\nb = \\x\n", "!"},
		{"a line break in a subsection", "[a \"b\nc\"]\n", "!"},
		{"behind a subsection", "[a \"b\" ]\n", "!"},
		{"a key with a dot", "[a]\nb.c = d\n", "!"},
		{"what stands before counts", "[a]\nb = c\n=\n", "a.b=c !"},
		{"a line that goes on behind the end", "[a]\nb = c\\", "a.b=c"},
		{"a carriage return behind a key", "[a]\nb\r", "!"},
		{"a NUL byte", "[a]\nb\x00 = c\n", "!"},
	} {
		all, err := parseConfig([]byte(c.text))
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s=%s", s.key(), s.value))
		}
		if err != nil {
			got = append(got, "!")
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
}

func TestRunsProgram(t *testing.T) {
	for key, want := range map[string]bool{
		"core.fsmonitor": true, "core.hookspath": true, "core.sshcommand": true, "core.worktree": true, "alias.st": true,
		"filter.clean": true, "diff.command": true, "diff.textconv": true, "merge.driver": true, "credential.helper": true,
		"include.path": true, "includeif.path": true, "gpg.program": true, "remote.uploadpack": true, "remote.vcs": true,
		"submodule.update": true, "pager.log": true, "hook.command": true, "lfs.standalonetransferagent": true,
		"core.bare": false, "core.filemode": false, "branch.remote": false, "branch.merge": false, "remote.url": false,
		"remote.fetch": false, "user.name": false, "submodule.active": false, "submodule.url": false, "push.default": false,
	} {
		section, name, _ := strings.Cut(key, ".")
		if got := runsProgram(section, name); got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("[core]\n\tfsmonitor = \"./x\" # y\n[a \"b\\\"\"]\nc = d\\\n e\n"))
	f.Add([]byte("\ufeff[a.b \"c\"] d\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseConfig(data)
		size := 0
		for _, s := range all {
			size += len(s.name) + len(s.value)
			if s.name == "" || s.section != strings.ToLower(s.section) || s.name != strings.ToLower(s.name) {
				t.Errorf("%q: %+v", data, s)
			}
		}
		if size > len(data) {
			t.Errorf("%q: longer than what it was read from", data)
		}
		// What stands before a key is no part of it: the same key follows whatever can be read.
		if err != nil || strings.HasSuffix(string(data), "\\") {
			return
		}
		more, err := parseConfig(append(data, "\n[core]\nfsmonitor=x"...))
		if err != nil || len(more) == 0 || more[len(more)-1].key() != "core.fsmonitor" {
			t.Errorf("%q: the key behind it is lost: %v", data, err)
		}
	})
}
