package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// need is a place outside the working folder that the programs in it will ask for (X19). Only the person who launches can
// know whether that is meant: the project, which a session may have written, is no reason to grant anything.
type need struct {
	what  string // for people
	path  string // what to grant
	write bool
	begin bool // path is where the project begins
}

// hintNeeds says in one hint, before the start, what programs will miss, and what grants it.
func (h *Host) hintNeeds(p *Plan) {
	if h.config.Hint == nil || p.profile == nil {
		return
	}
	work := realPath(p.request.Directory)
	opens := func(path string) bool { return p.profile.Opens(path, false) }
	var needs []need
	for _, n := range slices.Concat(gitNeeds(work), aboveNeeds(work, realPath(HomeFolder()), opens), linkedNeeds(work)) {
		covered := func(o need) bool { return strings.HasPrefix(n.path+"/", o.path+"/") }
		if printable(n.path) && !opens(n.path) && p.profile.Offers(n.path, n.write) && !slices.ContainsFunc(needs, covered) {
			needs = append(needs, n)
		}
	}
	var texts []string
	for _, n := range needs {
		text := fmt.Sprintf("%s %q, which is closed here: ", n.what, n.path)
		if n.begin {
			text += "start there with --dir " + shellWord(n.path) + ", or open it with "
		}
		texts = append(texts, text+Opening(n.path, n.write))
	}
	if len(texts) > 0 {
		h.config.Hint(strings.Join(firstOf(texts, maxNeeds), "; "))
	}
}

// Opening is what opens a closed path for a session: a flag for once, a line of a template for good.
func Opening(path string, write bool) string {
	key := "read"
	if write {
		key = "read_write"
	}
	line := path
	if rest, ok := strings.CutPrefix(path, HomeFolder()+"/"); ok {
		line = "~/" + rest
	}
	value, _ := json.Marshal([]string{line}) // a text is always JSON
	return fmt.Sprintf("%s, or %q: %s in a template of yours", Flag(path, write), key, value)
}

// Flag is the flag of host run that opens a closed path.
func Flag(path string, write bool) string {
	if write {
		return "--write " + shellWord(path)
	}
	return "--read " + shellWord(path)
}

// shellWord is text as one word that a shell takes as it stands.
func shellWord(text string) string {
	plain := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("/._-+@%:,", c)
	}
	if text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// printable says whether a path can be shown, and pasted, as it is.
func printable(path string) bool {
	return !strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) })
}

// Bounds of the look for needs: it is taken at each start.
const (
	maxAbove   = 12       // folders above the working folder
	maxPointer = 4 << 10  // bytes of a file that names a folder
	maxPackage = 64 << 10 // bytes of a package.json
	maxLinked  = 500      // names looked at in a package folder
	maxNeeds   = 3        // told of
)

// foldersAbove lists the folders above work in which a person's project may begin, the nearest first, up to the first that is
// a repository of its own: neither home nor what holds it, nor a folder that belongs to somebody else or that all may write.
func foldersAbove(work, home string) (above []string) {
	for dir := work; len(above) < maxAbove && !isThere(filepath.Join(dir, ".git")); above = append(above, dir) {
		dir = filepath.Dir(dir)
		info, err := os.Lstat(dir)
		if dir == "/" || strings.HasPrefix(home+"/", dir+"/") {
			break
		}
		if err != nil || info.Mode().Perm()&0o002 != 0 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			break
		}
	}
	return above
}

// marker is a file by which a tool finds out that a folder is part of a larger project.
type marker struct {
	name   string
	member string // counts only above a folder that has this; "": above any
	ends   string // a folder that has this belongs to nothing above; "": none does
}

const packageFolder = "node_modules"

var markers = []marker{
	{name: ".git"},
	{name: "go.work", member: "go.mod"},
	{name: "go.mod", ends: "go.mod"},
	{name: "Cargo.toml"},
	{name: "pom.xml", member: "pom.xml"},
	{name: "settings.gradle", member: "build.gradle"},
	{name: "settings.gradle.kts", member: "build.gradle.kts"},
	{name: "pnpm-workspace.yaml", member: "package.json"},
	{name: packageFolder, member: "package.json"},
}

// in is the nearest of the folders above work in which the marker counts; "": none.
func (m marker) in(work string, above []string) string {
	if m.ends != "" && isThere(filepath.Join(work, m.ends)) || m.member != "" && !isThere(filepath.Join(work, m.member)) {
		return ""
	}
	for _, dir := range above {
		info, err := os.Lstat(filepath.Join(dir, m.name))
		switch {
		case err != nil || m.name == ".git" && !isGitFolder(filepath.Join(dir, m.name)):
		case info.Mode()&os.ModeSymlink != 0:
			return ""
		default:
			return dir
		}
	}
	return ""
}

// aboveNeeds finds the folder above work in which the project begins, or in which its packages are installed. Opens says what
// the session can read.
func aboveNeeds(work, home string, opens func(path string) bool) []need {
	top, packages := "", ""
	var found []string
	above := foldersAbove(work, home)
	for _, m := range markers {
		dir := m.in(work, above)
		switch path := filepath.Join(dir, m.name); {
		case dir == "" || opens(path):
		case m.name == packageFolder:
			packages = path
		default:
			found = append(found, m.name)
			if top == "" || len(dir) < len(top) {
				top = dir
			}
		}
	}
	switch {
	case top != "":
		return []need{{what: "this folder is part of a project (" + strings.Join(found, ", ") + ") that begins in", path: top, begin: true}}
	case packages != "":
		return []need{{what: "packages of this folder are installed in", path: packages}}
	}
	return nil
}
