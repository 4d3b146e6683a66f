package protect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bounds of one look. A project is what its session made of it, and the host waits for the look.
const (
	maxFiles   = 2000     // files of which a fingerprint is taken
	maxFolders = 500      // folders listed in search of them, the nearest first
	maxDepth   = 32       // of folders: each is opened from the top
	maxNames   = 4096     // names read of one folder
	maxContent = 64 << 10 // of one file; a larger one is judged by its size and times
	maxBytes   = 8 << 20  // of all files
	maxConfig  = 1 << 20  // of a git configuration file
)

// mark is the fingerprint of one file, or of one key of git's configuration.
type mark [16]byte

// Prints is what one look found.
type Prints struct {
	marks map[string]mark // by name: the path below the first folder looked at, else the whole path
	paths []string        // what is there of the files and folders, with every link followed
	cut   bool            // a bound was reached
	heavy string          // the first folder of an installer in which a bound was reached
}

// Look takes the fingerprint of what a user's tools run unasked in folders, the project first. Home is where ~ leads, in
// names that git's configuration holds.
func Look(folders []string, home string) *Prints {
	all := &Prints{marks: map[string]mark{}}
	l := look{Prints: all, home: home, files: maxFiles, folders: maxFolders, bytes: maxBytes, seen: map[string]bool{}, buffer: make([]byte, 8<<10)}
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) {
			continue
		}
		l.folder, l.prefix = folder, ""
		if i > 0 {
			l.prefix = folder + "/"
		}
		l.open()
	}
	slices.Sort(all.paths)
	all.paths = slices.Compact(all.paths)
	return all
}

// Paths are the files and folders that must not be written, where that can be had: those that are there, without links.
func (p *Prints) Paths() []string { return p.paths }

// Changed lists what is new, changed or gone since, sorted.
func (p *Prints) Changed(now *Prints) []string {
	var list []string
	for name, m := range now.marks {
		if was, ok := p.marks[name]; !ok || was != m {
			list = append(list, printable(name))
		}
	}
	for name := range p.marks {
		if _, ok := now.marks[name]; !ok && !now.cut && now.heavy == "" {
			list = append(list, printable(name)+" (gone)")
		}
	}
	if now.cut && !p.cut {
		list = append(list, fmt.Sprintf("more than %d files or %d folders, so that not all was looked at", maxFiles, maxFolders))
	}
	if now.heavy != "" && p.heavy == "" {
		list = append(list, printable(now.heavy)+" (so large that not all in it was looked at)")
	}
	slices.Sort(list)
	return list
}

// maxPrinted bounds one name in a list that people read.
const maxPrinted = 256

// printable is a name that the session may have chosen, fit for a line on a terminal.
func printable(name string) string {
	text := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	if len(text) > maxPrinted {
		text = strings.ToValidUTF8(text[:maxPrinted], "") + "..."
	}
	return text
}

// look is a look in progress.
type look struct {
	*Prints
	home   string
	root   *os.Root // the folder that is looked at: nothing is opened through a link out of it
	top    *os.File // the same folder
	folder string   // its path
	prefix string   // of names
	seen   map[string]bool
	buffer []byte // for names

	keptAbove bool // the folder around is kept as a whole

	files, folders, bytes int // what is left of the bounds
}

// open looks at the folder. One that cannot be opened has nothing for a session either.
func (l *look) open() {
	var err error
	if l.root, err = os.OpenRoot(l.folder); err != nil {
		return
	}
	defer l.root.Close()
	if l.top, err = l.root.Open("."); err != nil {
		return
	}
	defer l.top.Close()
	l.search()
}

// heavy are folders that installers fill. They are searched last, so that they do not use up the bound.
const heavy words = " node_modules vendor target dist build .venv venv .cache "

// search looks through the folder and what is below, the nearest folders first.
func (l *look) search() {
	var later []string
	for queue := []string{"."}; len(queue) > 0; {
		dir := queue[0]
		if queue = queue[1:]; len(queue) == 0 {
			queue, later = later, nil
		}
		entries := l.list(dir, &l.folders)
		repository := isRepository(entries)
		if repository {
			l.gitFolder(dir, dir)
		}
		for _, e := range entries {
			name := strings.ToLower(e.name)
			if search, known := firstNames[name]; known {
				l.parts(dir, name)
				if !search {
					continue
				}
			}
			switch path := filepath.Join(dir, e.name); {
			case !e.isDir || repository && gitOwn.has(name):
			case heavy.has(name):
				later = append(later, path)
			default:
				queue = append(queue, path)
			}
		}
		if len(queue) == 0 {
			queue, later = later, nil
		}
	}
}

// gitOwn are the folders of a repository in which git keeps what it stores.
const gitOwn words = " objects refs logs lfs "

// list reads a folder, by name; left is what it is counted against.
func (l *look) list(dir string, left *int) []entry {
	if *left--; *left < 0 || strings.Count(dir, "/") > maxDepth {
		l.reached(dir)
		return nil
	}
	entries := l.entries(dir)
	if len(entries) >= maxNames {
		l.reached(dir)
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries
}

// reached notes that a bound was reached in a folder.
func (l *look) reached(dir string) {
	parts := strings.Split(dir, "/")
	i := slices.IndexFunc(parts, func(name string) bool { return heavy.has(strings.ToLower(name)) })
	switch {
	case i < 0:
		l.cut = true
	case l.heavy == "":
		l.heavy = l.prefix + strings.Join(parts[:i+1], "/")
	}
}

// entry is a name in a folder.
type entry struct {
	name  string
	isDir bool // a folder, and no link to one
}

// isRepository says whether git would take a folder for a repository.
func isRepository(entries []entry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e entry) bool { return strings.EqualFold(e.name, name) })
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// parts looks at the parts in dir whose first name is first.
func (l *look) parts(dir, first string) {
	for _, p := range parts {
		if name, _, _ := strings.Cut(p.name, "/"); name != first || p.top && dir != "." {
			continue
		}
		path := filepath.Join(dir, p.name)
		switch p.kind {
		case aFile:
			l.file(path)
		case aTree:
			l.tree(path, nil)
		case aConfig:
			l.config(path, dir)
		case aGitFolder:
			l.dotGit(path, dir)
		}
	}
}

// tree takes the fingerprints of all files below a folder; skip leaves some out.
func (l *look) tree(path string, skip func(name string) bool) {
	info, err := l.root.Lstat(path)
	if err != nil || l.seen[l.prefix+path] {
		return
	}
	l.seen[l.prefix+path] = true
	if !info.IsDir() {
		l.file(path) // also a link to a folder: its text
	} else if !l.keptAbove {
		l.keep(path)
		l.keptAbove = true
		defer func() { l.keptAbove = false }()
	}
	if info, err = l.root.Stat(path); err != nil || !info.IsDir() {
		return
	}
	for _, e := range l.list(path, &l.files) {
		switch {
		case skip != nil && skip(e.name):
		case e.isDir:
			l.tree(filepath.Join(path, e.name), skip)
		default:
			l.file(filepath.Join(path, e.name))
		}
	}
}
