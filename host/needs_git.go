package host

import (
	"os"
	"path/filepath"
	"strings"
)

// gitNeeds finds the repository of a worktree or submodule, which is elsewhere. The file .git that names it may be a
// session's word. So the place must say by itself that it is this folder's: git writes into it the way back.
func gitNeeds(work string) []need {
	for top := work; top != "/"; top = filepath.Dir(top) {
		info, err := os.Lstat(top + "/.git")
		if err != nil {
			continue
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		folder := pointer(top+"/.git", top, "gitdir:")
		if folder == "" {
			return nil
		}
		if common := worktreeOf(folder, top); common != "" {
			return []need{{what: "git keeps this worktree's repository in", path: common, write: true}}
		}
		if submoduleOf(folder, top) {
			return []need{{what: "git keeps this submodule's repository in", path: folder, write: true}}
		}
		return nil
	}
	return nil
}

// pointer is the folder that a file names, behind prefix, with links followed; "" where it names none.
func pointer(file, dir, prefix string) string {
	data, err := readUpTo(file, maxPointer)
	if err != nil {
		return ""
	}
	text, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	text = strings.TrimLeft(text, " ")
	if !ok || text == "" || !printable(text) {
		return ""
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(dir, text)
	}
	real, err := filepath.EvalSymlinks(text)
	if err != nil || !printable(real) {
		return ""
	}
	return real
}

// worktreeOf is the repository in which folder stands for the worktree top; "" where it does not.
func worktreeOf(folder, top string) string {
	common := filepath.Dir(filepath.Dir(folder))
	named := filepath.Base(common)
	if filepath.Base(filepath.Dir(folder)) != "worktrees" || named != ".git" && named != ".bare" && !strings.HasSuffix(named, ".git") {
		return ""
	}
	if pointer(folder+"/gitdir", folder, "") != top+"/.git" || pointer(folder+"/commondir", folder, "") != common || !isGitFolder(common) {
		return ""
	}
	return common
}

// submoduleOf says whether folder is the repository of the submodule top.
func submoduleOf(folder, top string) bool {
	if !isGitFolder(folder) || !strings.Contains(folder, "/.git/modules/") && !strings.Contains(folder, ".git/worktrees/") {
		return false
	}
	data, err := readUpTo(folder+"/config", maxPointer)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(name) == "worktree" {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			real, err := filepath.EvalSymlinks(filepath.Join(folder, value))
			return err == nil && !filepath.IsAbs(value) && real == top
		}
	}
	return false
}

// isGitFolder says whether path has what git asks of a repository, each part no link.
func isGitFolder(path string) bool {
	is := func(name string, dir bool) bool {
		info, err := os.Lstat(filepath.Join(path, name))
		return err == nil && (dir && info.IsDir() || !dir && info.Mode().IsRegular())
	}
	return is("", true) && is("HEAD", false) && is("objects", true) && is("refs", true)
}
