package protect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// project is a folder with a file for each part that a user's tools know, and without links in its path.
func project(t testing.TB) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".git/HEAD", ".git/hooks/pre-push", ".git/hooks/update.sample", ".git/objects/x", ".vscode/tasks.json", ".envrc",
		".claude/settings.json", ".claude/notes.md", "main.go", "tools/hook", "sub/deep/.mcp.json", ".git/worktrees/w/gitdir",
	} {
		write(t, dir, name, "x\n")
	}
	write(t, dir, ".git/worktrees/w/commondir", "../..\n")
	write(t, dir, ".git/modules/lib/a/HEAD", "x\n")
	write(t, dir, ".git/modules/lib/a/config", "[core]\n\tbare = false\n")
	write(t, dir, ".git/config", "[core]\n\tbare = false\n\thooksPath = tools\n[include]\n\tpath = ../shared.cfg\n[alias]\n\ta = b\n")
	write(t, dir, "shared.cfg", "[user]\n\tname = A\n")
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestChanged(t *testing.T) {
	const config = "[core]\n\tbare = false\n\thooksPath = tools\n[include]\n\tpath = ../shared.cfg\n[alias]\n\ta = b\n"
	do := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(dir string)
		want   string
	}{
		{"nothing", func(string) {}, ""},
		{"ordinary work", func(dir string) {
			write(t, dir, "main.go", "y")
			write(t, dir, ".git/index", "y")
			write(t, dir, ".git/hooks/pre-commit.sample", "y")
			write(t, dir, ".claude/notes.md", "y")
			write(t, dir, ".git/config", config+"[branch \"x\"]\n\tremote = origin\n")
		}, ""},
		{"written anew", func(dir string) { write(t, dir, ".envrc", "x\n"); write(t, dir, ".git/config", "# z\n"+config) }, ""},
		{"a key that runs a program", func(dir string) { write(t, dir, ".git/config", config+"[core]\nfsmonitor = ./x\n") }, ".git/config: core.fsmonitor"},
		{"a key with another value", func(dir string) { write(t, dir, ".git/config", strings.Replace(config, "= b", "= !b", 1)) }, ".git/config: alias.a"},
		{"no configuration", func(dir string) { write(t, dir, ".git/config", "[") },
			".git/config|.git/config: alias.a (gone)|.git/config: core.hookspath (gone)|.git/config: include.path (gone)|tools/hook (gone)"},
		{"a file that the configuration includes", func(dir string) { write(t, dir, "shared.cfg", "[core]\nfsmonitor = x\n") }, "shared.cfg: core.fsmonitor"},
		{"a hook where the configuration says", func(dir string) { write(t, dir, "tools/hook", "y") }, "tools/hook"},
		{"a submodule's configuration", func(dir string) { write(t, dir, ".git/modules/lib/a/config", "[core]\nsshCommand=x") }, ".git/modules/lib/a/config: core.sshcommand"},
		{"a submodule's hook", func(dir string) { write(t, dir, ".git/modules/lib/a/hooks/update", "x") }, ".git/modules/lib/a/hooks/update"},
		{"a worktree's configuration", func(dir string) { write(t, dir, ".git/worktrees/w/config.worktree", "[core]\nhooksPath=x") }, ".git/worktrees/w/config.worktree: core.hookspath"},
		{"a worktree", func(dir string) {
			write(t, dir, ".git/worktrees/v/commondir", "../..\n")
			write(t, dir, "v/.git", "gitdir: "+dir+"/.git/worktrees/v\n")
		}, ""},
		{"a worktree that leads elsewhere", func(dir string) { write(t, dir, ".git/worktrees/w/commondir", "../../../other") }, ".git/worktrees/w/commondir"},
		{"where git reads the rest", func(dir string) { write(t, dir, ".git/commondir", "../other") }, ".git/commondir"},
		{"a hook", func(dir string) { write(t, dir, ".git/hooks/post-checkout", "x") }, ".git/hooks/post-checkout"},
		{"a hook that can run", func(dir string) { do(os.Chmod(filepath.Join(dir, ".git/hooks/pre-push"), 0o755)) }, ".git/hooks/pre-push"},
		{"hooks that are gone", func(dir string) { do(os.RemoveAll(filepath.Join(dir, ".git/hooks"))) }, ".git/hooks/pre-push (gone)"},
		{"an editor's task", func(dir string) { write(t, dir, ".vscode/tasks.json", "y") }, ".vscode/tasks.json"},
		{"deep below", func(dir string) { write(t, dir, "sub/deep/.mcp.json", "y"); write(t, dir, "sub/new/.vscode/a/b", "y") }, "sub/deep/.mcp.json|sub/new/.vscode/a/b"},
		{"another repository", func(dir string) { write(t, dir, "sub/.git/config", "[core]\nfsmonitor=x") }, "sub/.git/config: core.fsmonitor"},
		{"a repository without .git", func(dir string) {
			write(t, dir, "sub/HEAD", "x")
			write(t, dir, "sub/objects/x", "x")
			write(t, dir, "sub/refs/x", "x")
			write(t, dir, "sub/config", "[core]\nfsmonitor=x")
		}, "sub/config: core.fsmonitor"},
		{".git elsewhere", func(dir string) {
			do(os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "other")))
			write(t, dir, ".git", "gitdir: other\n")
		}, ".git|.git/config: alias.a (gone)|.git/config: core.hookspath (gone)|.git/config: include.path (gone)|.git/hooks/pre-push (gone)|" +
			"other/config: alias.a|other/config: core.hookspath|other/config: include.path|other/hooks/pre-push"},
		{"a link in the way of a pointer", func(dir string) {
			// Without its links this names a worktree of .git; git follows them to the session's own repository.
			write(t, dir, "evil/.git/worktrees/v/HEAD", "x")
			write(t, dir, "evil/.git/worktrees/v/commondir", "../..\n")
			write(t, dir, "evil/.git/config", "[core]\nfsmonitor=x")
			write(t, dir, "evil/in/x", "x")
			do(os.Symlink("evil/in", filepath.Join(dir, "link")))
			write(t, dir, "v/.git", "gitdir: ../link/../.git/worktrees/v\n")
		}, "evil/.git/config: core.fsmonitor"},
		{"a link out", func(dir string) {
			do(os.Symlink("/etc", filepath.Join(dir, ".idea")))
			do(os.Symlink("/etc/passwd", filepath.Join(dir, ".mcp.json")))
		}, ".idea|.mcp.json"},
		{"what is no file", func(dir string) {
			do(syscall.Mkfifo(filepath.Join(dir, ".mcp.json"), 0o600))
			do(os.Remove(filepath.Join(dir, ".envrc")))
			do(os.Mkdir(filepath.Join(dir, ".envrc"), 0o700))
		}, ".envrc|.mcp.json"},
		{"names that are no names", func(dir string) { write(t, dir, ".vscode/\x1b[2J\n\xff", "x") }, ".vscode/?[2J?\ufffd"},
		{"a large file", func(dir string) { write(t, dir, ".idea/x", strings.Repeat("x", 1<<20)) }, ".idea/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t)
			before := Look([]string{dir}, "")
			c.change(dir)
			got := strings.Join(before.Changed(Look([]string{dir}, "")), "|")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestX17Names holds the table to what is promised: a new file of each of these names is told of.
func TestX17Names(t *testing.T) {
	for _, name := range strings.Fields(`.git/hooks/post-merge .gitmodules .envrc .vscode/x .idea/x .devcontainer/x .mcp.json .claude/settings.json
		.claude/settings.local.json .claude/commands/x .claude/agents/x .claude/hooks/x .codex/x .husky/x
		.bashrc .bash_profile .profile .zshrc .zshenv .zprofile .config/fish/x`) {
		dir := project(t)
		os.Remove(filepath.Join(dir, name))
		before := Look([]string{dir}, "")
		write(t, dir, name, "new")
		if got := strings.Join(before.Changed(Look([]string{dir}, "")), "|"); got != name {
			t.Errorf("%s: told %q", name, got)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := project(t)
	want := strings.Fields(".claude/settings.json .envrc .git/config .git/hooks .git/modules/lib/a/config .git/worktrees/w/commondir .vscode shared.cfg sub/deep/.mcp.json tools")
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	if got := Look([]string{dir, dir}, "").Paths(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Folders beside the project go by their whole path. In the home folder shells' files count.
func TestSecondFolder(t *testing.T) {
	dir, home := project(t), project(t)
	write(t, home, ".bashrc", "x")
	write(t, home, "sub/.bashrc", "x")
	before := Look([]string{dir, home}, home)
	write(t, home, ".bashrc", "y")
	write(t, home, "sub/.bashrc", "y")
	write(t, home, ".gitconfig", "[core]\npager=x")
	want := []string{home + "/.bashrc", home + "/.gitconfig: core.pager"}
	if got := before.Changed(Look([]string{dir, home}, home)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A session cannot hide what it did behind more than a look takes in.
func TestBounds(t *testing.T) {
	flood := map[string]string{"folders of a cache": "a/.cache (so large that not all in it was looked at)"}
	for _, c := range []struct {
		name   string
		change func(dir string)
	}{
		{"files", func(dir string) {
			for i := range maxFiles + 1 {
				write(t, dir, fmt.Sprintf(".codex/%d", i), "")
			}
		}},
		{"folders", func(dir string) {
			for i := range maxFolders + 1 {
				write(t, dir, fmt.Sprintf("a%d/x", i), "")
			}
		}},
		{"folders of a cache", func(dir string) {
			for i := range maxFolders + 1 {
				write(t, dir, fmt.Sprintf("a/.cache/%d/x", i), "")
			}
		}},
		{"depth", func(dir string) { write(t, dir, strings.Repeat("d/", maxDepth+3)+".envrc", "") }},
		{"depth of one part", func(dir string) { write(t, dir, ".codex/"+strings.Repeat("d/", maxDepth+3)+"x", "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t)
			before := Look([]string{dir}, "")
			c.change(dir)
			if got := before.Changed(Look([]string{dir}, "")); !slices.ContainsFunc(got, func(s string) bool {
				return s == cmp.Or(flood[c.name], fmt.Sprintf("more than %d files or %d folders, so that not all was looked at", maxFiles, maxFolders))
			}) {
				t.Errorf("got %.300q", got)
			}
		})
	}
}

func BenchmarkLook(b *testing.B) {
	dir := project(b)
	for i := range 200 {
		write(b, dir, fmt.Sprintf("pkg%d/a/file.go", i), "package a\n")
	}
	for b.Loop() {
		Look([]string{dir}, "")
	}
}
