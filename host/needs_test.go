package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files below a folder of the test's own: "NAME" with text, "NAME/" a folder, "NAME@" a link to text.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(top, strings.TrimRight(name, "@"))
		text = strings.ReplaceAll(text, "TOP", top)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "@"):
			err = os.Symlink(text, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// with is a copy of files with changes; "-" takes one out.
func with(files map[string]string, change ...string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[name] = text
	}
	for i := 0; i < len(change); i += 2 {
		if all[change[i]] = change[i+1]; change[i+1] == "-" {
			delete(all, change[i])
		}
	}
	return all
}

// A worktree or submodule is believed when git's own files lead back to it, and nothing else is.
func TestGitNeeds(t *testing.T) {
	repository := func(at string) map[string]string {
		return map[string]string{at + "/HEAD": "ref: x", at + "/objects/": "", at + "/refs/": "", at + "/config": ""}
	}
	worktree := with(repository("r/.git"), "w/.git", "gitdir: TOP/r/.git/worktrees/w\n",
		"r/.git/worktrees/w/gitdir", "TOP/w/.git\n", "r/.git/worktrees/w/commondir", "../..\n")
	module := with(repository("r/.git/modules/w"), "w/.git", "gitdir: ../r/.git/modules/w\n",
		"r/.git/modules/w/config", "[core]\n\tbare = false\n\tworktree = ../../../../w\n")
	moved := func(to string) map[string]string {
		all := map[string]string{}
		for name, text := range worktree {
			all[strings.Replace(name, "r/.git", to, 1)] = strings.ReplaceAll(text, "r/.git", to)
		}
		return all
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"worktree":                    {worktree, "r/.git"},
		"relative":                    {with(worktree, "w/.git", "gitdir: ../r/.git/worktrees/w", "r/.git/worktrees/w/gitdir", "../../../../w/.git"), "r/.git"},
		"bare":                        {moved("r.git"), "r.git"},
		"bare, hidden":                {moved("r/.bare"), "r/.bare"},
		"any folder":                  {moved("r"), ""},
		"submodule":                   {module, "r/.git/modules/w"},
		"repository here":             {repository("w/.git"), ""},
		"none":                        {map[string]string{"w/": ""}, ""},
		"another's":                   {with(worktree, "r/.git/worktrees/w/gitdir", "TOP/other/.git", "other/.git", "x"), ""},
		"no way back":                 {with(worktree, "r/.git/worktrees/w/gitdir", "-"), ""},
		"no common folder":            {with(worktree, "r/.git/worktrees/w/commondir", "-"), ""},
		"another common folder":       {with(worktree, "r/.git/worktrees/w/commondir", "../../.."), ""},
		"no repository":               {with(worktree, "r/.git/HEAD", "-"), ""},
		"a repository of links":       {with(worktree, "r/.git/refs/", "-", "r/.git/refs@", "objects"), ""},
		"deeper":                      {with(worktree, "w/.git", "gitdir: TOP/r/.git/worktrees/w/x", "r/.git/worktrees/w/x/", ""), ""},
		"a link":                      {with(worktree, "w/.git", "-", "w/.git@", "../g", "g", "gitdir: TOP/r/.git/worktrees/w"), ""},
		"no gitdir":                   {with(worktree, "w/.git", "TOP/r/.git/worktrees/w"), ""},
		"a line too many":             {with(worktree, "w/.git", "gitdir: TOP/r/.git/worktrees/w\n\nx"), ""},
		"a control character":         {with(worktree, "w/.git", "gitdir: TOP/r/.git/worktrees/w\x1b[0m"), ""},
		"too long":                    {with(worktree, "w/.git", "gitdir: TOP/r/.git/worktrees/w"+strings.Repeat("/.", maxPointer)), ""},
		"submodule, another's":        {with(module, "r/.git/modules/w/config", "[core]\nworktree = ../../../../v", "v/", ""), ""},
		"submodule without work tree": {with(module, "r/.git/modules/w/config", "[core]\n"), ""},
		"submodule, absolute":         {with(module, "r/.git/modules/w/config", "[core]\nworktree = TOP/w\n"), ""},
		"submodule elsewhere":         {with(repository("r"), "w/.git", "gitdir: ../r", "r/config", "[core]\nworktree = ../w"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			top, got := tree(t, c.files), ""
			for _, n := range gitNeeds(filepath.Join(top, "w")) {
				got += strings.TrimPrefix(n.path, top+"/")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAboveNeeds(t *testing.T) {
	git := map[string]string{"a/.git/HEAD": "x", "a/.git/objects/": "", "a/.git/refs/": "", "a/b/c/": ""}
	for name, c := range map[string]struct {
		files map[string]string
		opens string
		want  string
	}{
		"nothing":                   {map[string]string{"a/b/c/": ""}, "", ""},
		"repository":                {git, "", "a"},
		"repository, open":          {git, "a/.git", ""},
		"no repository":             {with(git, "a/.git/HEAD", "-"), "", ""},
		"above a repository":        {with(git, "go.work", "", "a/b/c/go.mod", ""), "", "a"},
		"a repository here":         {with(git, "a/b/c/.git", "gitdir: x"), "", ""},
		"at home":                   {map[string]string{"Cargo.toml": "", "a/b/c/": ""}, "", ""},
		"module":                    {map[string]string{"a/go.mod": "", "a/b/c/": ""}, "", "a"},
		"module of its own":         {map[string]string{"a/go.mod": "", "a/b/c/go.mod": ""}, "", ""},
		"workspaces, the outermost": {map[string]string{"a/go.work": "", "a/b/c/go.mod": "", "a/b/Cargo.toml": ""}, "", "a"},
		"packages":                  {map[string]string{"a/node_modules/": "", "a/b/c/package.json": ""}, "", "a/node_modules"},
		"packages, none here":       {map[string]string{"a/node_modules/": "", "a/b/c/": ""}, "", ""},
		"packages, open":            {map[string]string{"a/node_modules/": "", "a/b/c/package.json": ""}, "a/node_modules", ""},
		"packages, a link":          {map[string]string{"a/node_modules@": "x", "x/": "", "a/b/c/package.json": ""}, "", ""},
		"pnpm":                      {map[string]string{"a/node_modules/": "", "a/pnpm-workspace.yaml": "", "a/b/c/package.json": ""}, "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			top, got := tree(t, c.files), ""
			opens := func(path string) bool { return c.opens != "" && path == filepath.Join(top, c.opens) }
			for _, n := range aboveNeeds(filepath.Join(top, "a/b/c"), top, opens) {
				got += strings.TrimPrefix(n.path, top+"/")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	top := tree(t, git)
	if err := os.Chmod(filepath.Join(top, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := foldersAbove(filepath.Join(top, "a/b/c"), top); len(got) != 1 {
		t.Errorf("a folder that all may write: %q", got)
	}
}

func TestLinkedNeeds(t *testing.T) {
	files := map[string]string{
		"w/node_modules/in@": "../in", "w/in/package.json": `{"name":"in"}`,
		"w/node_modules/gone@": "../../gone", "w/node_modules/out@": "../../o", "o/package.json": `{"name":"out"}`,
		"w/node_modules/wrong@": "../../o", "w/node_modules/none@": "../../x", "x/": "",
		"w/node_modules/p@": "../../s/.pnpm/p@1/node_modules/p", "s/.pnpm/p@1/node_modules/p/package.json": `{"name":"p"}`,
		"w/node_modules/q@": "TOP/s/.pnpm/q@1/node_modules/q", "s/.pnpm/q@1/node_modules/q/package.json": `{"name":"q"}`,
		"w/node_modules/l@": "TOP/v10/links/@/l/1/abc/node_modules/l", "v10/links/@/l/1/abc/node_modules/l/package.json": `{"name":"l"}`,
	}
	top := tree(t, files)
	got := map[string]bool{}
	for _, n := range linkedNeeds(filepath.Join(top, "w")) {
		got[strings.TrimPrefix(n.path, top+"/")] = true
	}
	if len(got) != 3 || !got["o"] || !got["s/.pnpm"] || !got["v10/links"] {
		t.Errorf("got %v", got)
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b-c_d.e+f@g": "/a/b-c_d.e+f@g", "/ä": "/ä", "/a b": "'/a b'", "/a'b": `'/a'\''b'`, "/$(x)": "'/$(x)'", "/a;b": "'/a;b'",
		"~/a": "'~/a'", "/~": "'/~'", "": "''", "/a*": "'/a*'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
