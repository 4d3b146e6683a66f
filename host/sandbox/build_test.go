package sandbox

import (
	"slices"
	"strings"
	"testing"

	"hostshim/shim"
)

// policy builds spec on d for Linux and reads the result as the shim will.
func policy(t *testing.T, d disk, spec Spec) (*shim.Policy, *Profile) {
	t.Helper()
	p, err := build(spec, d.facts(false))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := shim.ParsePolicy(p.Text)
	if err != nil {
		t.Fatalf("the shim would refuse the profile: %v\n%s", err, p.Text)
	}
	return parsed, p
}

func TestBaseline(t *testing.T) {
	got, p := policy(t, linux, linuxSpec())
	want := shim.Policy{
		Version:   1,
		Read:      []string{"/etc", "/home/ann/.local/share/claude/versions/2.1.197", "/opt", "/proc", "/run/systemd/resolve/found.conf", "/sys", "/usr"},
		ReadWrite: []string{"/dev/shm", "/home/ann/app", "/tmp/relay-s1"},
		Devices:   []string{"/dev/null", "/dev/tty", "/dev/urandom"},
		Deny:      []string{"/home/ann/.config/relay/settings.json", "/home/ann/.local/state/relay-host", "/home/ann/secrets/token"},
		Network:   "open",
	}
	for _, list := range []struct {
		name      string
		got, want []string
	}{
		{"read", got.Read, want.Read}, {"read_write", got.ReadWrite, want.ReadWrite},
		{"devices", got.Devices, want.Devices}, {"deny", got.Deny, want.Deny},
	} {
		if !slices.Equal(list.got, list.want) {
			t.Errorf("%s\n got %q\nwant %q", list.name, list.got, list.want)
		}
	}
	if got.Network != want.Network || p.Network != want.Network || p.Ext != ".json" {
		t.Errorf("network %q and %q, extension %q", got.Network, p.Network, p.Ext)
	}
	if p.Warnings != nil || p.Create != nil {
		t.Errorf("warnings %q, create %q, want none", p.Warnings, p.Create)
	}
}

// What a program needs, as paths that Read must and must not hold.
func TestProgram(t *testing.T) {
	const nm = "/home/ann/.nvm/versions/node/v24"
	for _, c := range []struct {
		name          string
		disk          disk
		program, path string
		read, not     []string
	}{
		{"native behind a link", nil, "/home/ann/.local/bin/claude", "",
			[]string{"/home/ann/.local/share/claude/versions/2.1.197"}, []string{"/home/ann/.local", "/home/ann/.local/bin"}},
		{"two links in a row", disk{"/home/ann/bin/c": "link ../.local/bin/claude"}, "/home/ann/bin/c", "",
			[]string{"/home/ann/.local/share/claude/versions/2.1.197"}, []string{"/home/ann/bin"}},
		{"nvm", disk{nm + "/bin/claude": "link ../lib/node_modules/@a/c/cli.js", nm + "/lib/node_modules/@a/c/cli.js": "#!/usr/bin/env node", nm + "/bin/node": "exec"},
			nm + "/bin/claude", nm + "/bin:/usr/bin", []string{nm}, []string{"/home/ann/.nvm"}},
		{"npm prefix in a project", disk{"/srv/p/node_modules/.bin/c": "link ../@a/c/cli.js", "/srv/p/node_modules/@a/c/cli.js": "#! /usr/bin/env -S node --x", "/srv/n/node": "exec"},
			"/srv/p/node_modules/.bin/c", "rel:/srv/none:/srv/n", []string{"/srv/p/node_modules", "/srv/n/node"}, []string{"/srv/p", "/srv/n"}},
		{"pnpm", disk{"/srv/g/node_modules/.pnpm/c@1/node_modules/c/cli.js": "exec", "/srv/g/bin/c": "link ../node_modules/.pnpm/c@1/node_modules/c/cli.js"},
			"/srv/g/bin/c", "", []string{"/srv/g/node_modules"}, []string{"/srv/g"}},
		{"packages beside a script", disk{"/home/ann/.claude/local/claude": "#!/bin/sh", "/home/ann/.claude/local/node_modules/c": "dir", "/usr/bin/sh": "exec"},
			"/home/ann/.claude/local/claude", "", []string{"/home/ann/.claude/local/claude", "/home/ann/.claude/local/node_modules"}, []string{"/home/ann/.claude/local"}},
		{"virtual environment", disk{"/srv/v/bin/tool": "#!/srv/v/bin/python -I", "/srv/v/bin/python": "link /usr/bin/python3", "/srv/v/lib/python3.11": "dir"},
			"/srv/v/bin/tool", "", []string{"/srv/v"}, nil},
		{"one in a dot folder of home", disk{"/home/ann/.local/bin/t": "#!/usr/bin/python3", "/home/ann/.local/lib/python3.11": "dir", "/home/ann/.local/pyvenv.cfg": "file"},
			"/home/ann/.local/bin/t", "", []string{"/home/ann/.local/bin/t", "/home/ann/.local/lib/python3.11", "/home/ann/.local/pyvenv.cfg"}, []string{"/home/ann/.local"}},
		{"home as an installation", disk{"/home/ann/bin/t": "exec", "/home/ann/lib/node_modules": "dir"},
			"/home/ann/bin/t", "", []string{"/home/ann/lib/node_modules"}, []string{"/home/ann"}},
		{"an interpreter that is a script", disk{"/srv/a": "#!/srv/b", "/srv/b": "#!/srv/c", "/srv/c": "exec"},
			"/srv/a", "", []string{"/srv/a", "/srv/b", "/srv/c"}, nil},
		{"scripts in a circle", disk{"/srv/a": "#!/srv/b", "/srv/b": "#!/srv/a"}, "/srv/a", "", []string{"/srv/a", "/srv/b"}, nil},
		{"a key as interpreter", disk{"/home/ann/app/run": "#!/home/ann/.ssh/id"}, "/home/ann/app/run", "", nil, []string{"/home/ann/.ssh/id"}},
		{"parts that lead away", disk{"/home/ann/app/bin/t": "exec", "/home/ann/app/Cellar": "dir", "/home/ann/app/opt": "link /home/ann/.ssh", "/home/ann/app/bin/node_modules": "link /home/ann/.ssh"},
			"/home/ann/app/bin/t", "", nil, []string{"/home/ann/.ssh"}},
		{"another project's virtual environment", disk{"/home/ann/app/run": "#!/home/ann/other/bin/python3", "/home/ann/other/bin/python3": "link /usr/bin/python3", "/home/ann/other/lib/python3.11/site-packages": "dir", "/home/ann/other/pyvenv.cfg": "file", "/home/ann/other/notes": "file"},
			"/home/ann/app/run", "", []string{"/home/ann/other/pyvenv.cfg", "/usr/bin/python3.11"}, []string{"/home/ann/other", "/home/ann/other/notes", "/home/ann/other/lib/python3.11"}},
		{"another project's packages", disk{"/home/ann/app/run": "#!/home/ann/other/bin/node", "/home/ann/other/bin/node": "exec", "/home/ann/other/lib/node_modules/x": "dir", "/home/ann/other/bin/node_modules/y": "dir"},
			"/home/ann/app/run", "", []string{"/home/ann/other/bin/node"}, []string{"/home/ann/other", "/home/ann/other/lib/node_modules", "/home/ann/other/bin/node_modules"}},
		{"another project's package", disk{"/home/ann/app/run": "#!/home/ann/other/node_modules/.bin/x", "/home/ann/other/node_modules/.bin/x": "link ../x/cli", "/home/ann/other/node_modules/x/cli": "#!/bin/sh", "/bin/sh": "exec"},
			"/home/ann/app/run", "", []string{"/home/ann/other/node_modules/x/cli"}, []string{"/home/ann/other/node_modules/x", "/home/ann/other/node_modules"}},
		{"another project with a Cellar", disk{"/home/ann/app/run": "#!/home/ann/other/bin/x", "/home/ann/other/bin/x": "exec", "/home/ann/other/Cellar/k": "file", "/home/ann/other/lib/k": "file"},
			"/home/ann/app/run", "", []string{"/home/ann/other/bin/x"}, []string{"/home/ann/other/Cellar/k", "/home/ann/other/lib/k"}},
		{"a link that the session can turn", disk{"/home/ann/app/run": "link /home/ann/other/bin/node", "/home/ann/other/bin/node": "exec", "/home/ann/other/lib/node_modules/x": "dir"},
			"/home/ann/app/run", "", []string{"/home/ann/other/bin/node"}, []string{"/home/ann/other", "/home/ann/other/lib"}},
		{"an interpreter's own library", disk{"/home/ann/app/run": "#!/usr/bin/env python3", "/home/ann/py/v3/bin/python3": "exec", "/home/ann/py/v3/lib/python3.12/os.py": "file", "/home/ann/py/v3/lib/libpython3.so": "file", "/home/ann/py/v3/share/x": "file"},
			"/home/ann/app/run", "/home/ann/py/v3/bin", []string{"/home/ann/py/v3/lib/libpython3.so", "/home/ann/py/v3/lib/python3.12/os.py"}, []string{"/home/ann/py/v3", "/home/ann/py/v3/share/x"}},
		{"an interpreter that node installed", disk{"/home/ann/app/run": "#!/usr/bin/env tsx", nm + "/bin/tsx": "link ../lib/node_modules/tsx/cli.js", nm + "/lib/node_modules/tsx/cli.js": "#!/usr/bin/env node", nm + "/bin/node": "exec"},
			"/home/ann/app/run", nm + "/bin", []string{nm + "/bin/node", nm + "/lib/node_modules/tsx"}, []string{nm, nm + "/bin"}},
		{"missing", nil, "/srv/none", "", nil, []string{"/srv/none"}},
		{"not executable", disk{"/srv/x": "file"}, "/srv/x", "", nil, []string{"/srv/x"}},
		{"none", nil, "", "", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := linuxSpec()
			spec.Program, spec.Path = c.program, c.path
			got, _ := policy(t, linux.and(c.disk), spec)
			covered := func(path string) bool {
				return slices.ContainsFunc(got.Read, func(r string) bool { return within(path, r) })
			}
			for _, path := range c.read {
				if !covered(path) {
					t.Errorf("%q is not readable: %q", path, got.Read)
				}
			}
			for _, path := range c.not {
				if covered(path) {
					t.Errorf("%q is readable: %q", path, got.Read)
				}
			}
		})
	}
}

func TestTemplateEntries(t *testing.T) {
	spec := linuxSpec()
	spec.Read = []string{"~/docs", "/home/ann/./docs/../docs", "~/linked"}
	spec.ReadWrite = []string{"~/.cache/go/mod", "/dev/pts", "/dev/ptmx", "~/agent.sock", "~/new.d/"}
	spec.Deny = []string{"~/docs/private", "~/.cache/go/mod/secret"}
	got, p := policy(t, linux.and(disk{
		"/home/ann/docs/private": "dir", "/home/ann/agent.sock": "sock",
		"/home/ann/linked": "link /srv/real", "/srv/real": "dir", "/home/ann/.cache": "dir",
	}), spec)
	for _, path := range []string{"/home/ann/docs", "/srv/real"} {
		if !slices.Contains(got.Read, path) {
			t.Errorf("read lacks %q: %q", path, got.Read)
		}
	}
	for _, path := range []string{"/home/ann/.cache/go/mod", "/dev/pts", "/home/ann/agent.sock", "/home/ann/new.d"} {
		if !slices.Contains(got.ReadWrite, path) {
			t.Errorf("read_write lacks %q: %q", path, got.ReadWrite)
		}
	}
	if !slices.Contains(got.Devices, "/dev/ptmx") {
		t.Errorf("devices lack /dev/ptmx: %q", got.Devices)
	}
	for _, path := range []string{"/home/ann/docs/private", "/home/ann/.cache/go/mod/secret"} {
		if !slices.Contains(got.Deny, path) {
			t.Errorf("deny lacks %q: %q", path, got.Deny)
		}
	}
	want := []string{"/home/ann/.cache/go", "/home/ann/.cache/go/mod", "/home/ann/new.d"}
	if !slices.Equal(p.Create, want) {
		t.Errorf("create %q, want %q", p.Create, want)
	}
}

// Optional entries never refuse: what is missing, no file, or behind a link that the session could turn is left out.
func TestReadIfThere(t *testing.T) {
	home := linux.and(disk{
		"/home/ann/.gitconfig": "link /home/ann/dot/git", "/home/ann/dot": "dir", "/home/ann/dot/git": "file",
		"/home/ann/folder": "dir", "/home/ann/tools": "dir", "/home/ann/app/turned": "link /home/ann/dot/git2", "/home/ann/dot/git2": "file",
	})
	spec := linuxSpec()
	spec.ReadIfThere = []string{"~/.gitconfig", "~/none", "~/none/deeper", "~/folder", "~/tools/", "~/dot/git2/", "~/app/turned", "relative"}
	got, _ := policy(t, home, spec)
	for path, want := range map[string]bool{
		"/home/ann/dot/git": true, "/home/ann/none": false, "/home/ann/folder": false, "/home/ann/tools": true, "/home/ann/dot/git2": false,
	} {
		if slices.Contains(got.Read, path) != want {
			t.Errorf("%s granted: %v, want %v", path, !want, want)
		}
	}
	spec.Deny = []string{"~/dot/git"}
	if got, _ = policy(t, home, spec); slices.Contains(got.Read, "/home/ann/dot/git") {
		t.Error("granted, though denied")
	}
}

// Links in folders that only root can write are followed, and where something is granted around them they
// are kept in place: Kubernetes and systemd swap such links under a running session.
func TestRootsLinks(t *testing.T) {
	spec := linuxSpec()
	spec.Private[0] = "/srv/cred/token"
	d := linux.and(disk{
		"/srv/cred/token": "link ..data/token", "/srv/cred/..data": "link ..2026", "/srv/cred/..2026/token": "file",
	})
	got, _ := policy(t, d, spec)
	if !slices.Contains(got.Deny, "/srv/cred/..2026/token") || slices.Contains(got.Deny, "/srv/cred/.kept") {
		t.Errorf("nothing granted around: %q", got.Deny)
	}
	spec.Read = []string{"/srv/cred"}
	got, p := policy(t, d, spec)
	for _, path := range []string{"/srv/cred/..2026/token", "/srv/cred/.kept"} {
		if !slices.Contains(got.Deny, path) {
			t.Errorf("deny lacks %q: %q", path, got.Deny)
		}
	}
	if len(p.Warnings) != 0 {
		t.Errorf("a warning although nothing could be created there: %q", p.Warnings)
	}
}

func TestDenyWins(t *testing.T) {
	spec := linuxSpec()
	spec.Read = []string{"~/.ssh"}
	spec.ReadWrite = []string{"~/.ssh/new/sub"}
	spec.Deny = []string{"~/.ssh", "/opt"}
	got, p := policy(t, linux, spec)
	for _, path := range []string{"/home/ann/.ssh", "/opt"} {
		if slices.Contains(got.Read, path) || !slices.Contains(got.Deny, path) {
			t.Errorf("%q: read %q, deny %q", path, got.Read, got.Deny)
		}
	}
	if len(p.Create) != 0 || len(p.Warnings) != 0 {
		t.Errorf("create %q, warnings %q", p.Create, p.Warnings)
	}
}

func TestWarning(t *testing.T) {
	for _, c := range []struct {
		name string
		spec func(*Spec)
		want string
	}{
		{"token in the working directory", func(s *Spec) { s.Private = []string{"/home/ann/app/token"} },
			`no new files directly in "/home/ann/app", which hold what is denied: keep token, settings and state folder outside what a session may write`},
		{"token below a granted folder", func(s *Spec) { s.ReadWrite, s.Private = []string{"~/secrets"}, s.Private[:1] },
			`no new files directly in "/home/ann/secrets", which hold what is denied: keep token, settings and state folder outside what a session may write`},
		{"home granted", func(s *Spec) { s.ReadWrite = []string{"~"} },
			`of what is granted stay closed: "/home/ann/.ssh" (SSH keys); read-only: "/home/ann/.local/bin" (programs on PATH): a template opens a place by naming it in read or read_write
no new files directly in "/home/ann", "/home/ann/.config", "/home/ann/.config/relay", "/home/ann/.local" and 3 more, which hold what is denied: keep token, settings and state folder outside what a session may write`},
		{"a template's deny", func(s *Spec) { s.Deny = []string{"~/app/a/b/.env"} },
			`no new files directly in "/home/ann/app", which hold what is denied: keep what is denied outside what is granted`},
		{"home granted for reading", func(s *Spec) { s.Read = []string{"~"} },
			`of what is granted stay closed: "/home/ann/.ssh" (SSH keys): a template opens a place by naming it in read or read_write`},
		{"a private place", func(s *Spec) { s.Read = []string{"~", "~/.ssh/id"} }, ""},
		{"a folder of tools", func(s *Spec) { s.ReadWrite = []string{"~/.config"}; s.Private = nil },
			`no new files directly in "/home/ann/.config", which hold what is denied: grant single folders in them by name`},
		{"nothing", func(s *Spec) { s.Read = []string{"/opt"} }, ""},
	} {
		spec := linuxSpec()
		c.spec(&spec)
		_, p := policy(t, linux, spec)
		if got := strings.Join(p.Warnings, "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestLooksLikeFile(t *testing.T) {
	for name, want := range map[string]bool{
		"~/.claude.json": true, "/a/settings.json": true, "~/.gitconfig": true, "~/.bashrc": true, "~/.bash_history": true,
		"~/.profile": true, "~/.cache": false, "~/.config": false, "~/.npm": false, "/a/notes": false, "/a/x.d/": false,
		"/a/v1.2": true, "~/.a.": false, "~": false, "/": false, "~/rc": false,
	} {
		if got := looksLikeFile(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
