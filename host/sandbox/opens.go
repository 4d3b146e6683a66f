package sandbox

import (
	"path/filepath"
	"slices"
	"syscall"
)

// Opens says whether the session can open the file or folder at path to read it, or also to write it. What is missing
// counts as its nearest folder that is there. A denied place inside a folder that can be opened is not looked for.
func (p *Profile) Opens(path string, write bool) bool {
	path = realPath(path)
	if slices.ContainsFunc(p.rules.denies, func(d denied) bool { return within(path, d.real) }) {
		return false
	}
	return slices.ContainsFunc(p.rules.grants, func(g grant) bool {
		private := func(d denied) bool {
			return !d.link && (write || !d.readOnly) && within(path, d.real) && !within(g.real, d.real)
		}
		held := g.real == path || g.kind == folder && within(path, g.real)
		return held && (g.write || !write) && !slices.ContainsFunc(p.rules.private, private)
	})
}

// realPath follows the links on the way to path as far as there are folders.
func realPath(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if syscall.Access(dir, 0) != syscall.ENOENT { // most often it is not there: this asks without a walk
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				return filepath.Join(real, rest)
			}
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
