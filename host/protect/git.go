package protect

import (
	"crypto/sha256"
	"path/filepath"
	"strings"
)

// maxPointer bounds a file that names a folder: .git of a worktree, commondir.
const maxPointer = 8 << 10

// dotGit looks at .git in the folder top: a repository, or a file that says where that is.
func (l *look) dotGit(path, top string) {
	info, err := l.root.Lstat(path)
	if err != nil {
		return
	}
	if info.Mode().IsRegular() {
		text, _ := l.pointer(path)
		to, ok := strings.CutPrefix(text, "gitdir:")
		dir, in := l.inside(top, strings.TrimSpace(to))
		if ok = ok && in; ok {
			l.gitFolder(dir, top)
		}
		// A worktree or submodule of a repository that is looked at itself is as harmless as that.
		if ok && (strings.Contains(dir, ".git/worktrees/") || strings.Contains(dir, ".git/modules/")) {
			l.keep(path)
			return
		}
	}
	if !info.IsDir() {
		l.file(path)
	}
	if info, err = l.root.Stat(path); err == nil && info.IsDir() {
		l.gitFolder(path, top)
	}
}

// pointer reads a file that names a folder.
func (l *look) pointer(path string) (string, bool) {
	data, ok := l.read(path, maxPointer)
	return strings.TrimSpace(string(data)), ok
}

// inside is where a name in the folder dir leads, if that is there and below the folder that is looked at. What is
// elsewhere was not granted, or is looked at by itself. Links count as they do for git, or one of them would lead git to
// another place than this.
func (l *look) inside(dir, to string) (string, bool) {
	if rest, ok := strings.CutPrefix(to, "~/"); ok && l.home != "" {
		to = l.home + "/" + rest
	} else if !filepath.IsAbs(to) {
		to = l.folder + "/" + dir + "/" + to
	}
	real, _ := filepath.EvalSymlinks(to) // "" with an error
	return strings.CutPrefix(real, l.folder+"/")
}

// gitFolder looks at a repository, whose work tree is top: its configuration, its hooks, and those of its worktrees and
// submodules.
func (l *look) gitFolder(dir, top string) {
	key := l.prefix + dir + "\x00" + top
	if l.seen[key] {
		return
	}
	l.seen[key] = true
	l.config(filepath.Join(dir, "config"), top)
	l.config(filepath.Join(dir, "config.worktree"), top)
	l.tree(filepath.Join(dir, "hooks"), isSample)
	l.common(dir, top)
	for _, e := range l.sub(dir, "worktrees") {
		at := filepath.Join(dir, "worktrees", e)
		l.config(filepath.Join(at, "config.worktree"), top)
		l.common(at, top)
	}
	l.modules(filepath.Join(dir, "modules"), top)
}

// common looks at the file that names where git reads the rest of a repository. Each worktree has one, with one text.
func (l *look) common(dir, top string) {
	path := filepath.Join(dir, "commondir")
	to, ok := l.pointer(path)
	if to != "../.." || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		l.file(path)
	} else {
		l.keep(path)
	}
	if dir, in := l.inside(dir, to); ok && in {
		l.gitFolder(dir, top)
	}
}

// modules looks at the repositories of submodules, whose names may have slashes.
func (l *look) modules(dir, top string) {
	for _, e := range l.sub(dir, ".") {
		at := filepath.Join(dir, e)
		if _, err := l.root.Lstat(filepath.Join(at, "HEAD")); err == nil {
			l.gitFolder(at, top)
		} else {
			l.modules(at, top)
		}
	}
}

// sub lists the folders in a folder of a repository.
func (l *look) sub(dir, name string) (folders []string) {
	at := filepath.Join(dir, name)
	if info, err := l.root.Lstat(at); err != nil || !info.IsDir() {
		return nil
	}
	for _, e := range l.list(at, &l.files) {
		if e.isDir {
			folders = append(folders, e.name)
		}
	}
	return folders
}

func isSample(name string) bool { return strings.HasSuffix(name, ".sample") }

// config takes a fingerprint of each key in a git configuration file that can run a program, and looks at the files and
// hooks that it names. A file that git cannot read is taken whole.
func (l *look) config(path, top string) {
	info, err := l.root.Lstat(path)
	if err != nil || l.seen[l.prefix+path+"\x00"+top] || l.full() {
		return
	}
	l.seen[l.prefix+path+"\x00"+top] = true
	if !info.Mode().IsRegular() {
		l.file(path)
	} else {
		l.keep(path)
	}
	data, whole := l.read(path, maxConfig)
	settings, err := parseConfig(data)
	if (!whole || err != nil) && info.Mode().IsRegular() {
		l.file(path)
	}
	values := map[string][]byte{}
	for _, s := range settings {
		if !runsProgram(s.section, s.name) || l.ownWorktree(path, s) {
			continue
		}
		sum := sha256.Sum256(append(values[s.key()], s.value...))
		values[s.key()] = sum[:]
		l.named(path, top, s)
	}
	for key, sum := range values {
		l.put(path+": "+key, sum)
	}
}

// ownWorktree says whether the setting in a configuration file names a work tree inside the project, as each submodule
// has one. Elsewhere git would write what the session committed: over a shell's start-up file, say.
func (l *look) ownWorktree(path string, s setting) bool {
	if s.key() != "core.worktree" {
		return false
	}
	_, in := l.inside(filepath.Dir(path), s.value)
	return in
}

// named looks at what the setting in a configuration file names: another such file, or a folder of hooks.
func (l *look) named(path, top string, s setting) {
	switch {
	case strings.HasPrefix(s.section, "include") && s.name == "path":
		if to, in := l.inside(filepath.Dir(path), s.value); in {
			l.config(to, top)
		}
	case s.key() == "core.hookspath":
		if to, in := l.inside(top, s.value); in {
			l.tree(to, isSample)
		}
	}
}
