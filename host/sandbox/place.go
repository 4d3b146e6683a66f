package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// place is where a path leads.
type place struct {
	spelled string   // as written, made clean; equal to real when no link was passed
	real    string   // with every link followed, missing parts kept
	links   []string // every link passed, each at its own real place
	turns   bool     // the last part is a link itself
	missing string   // the first part of real that is not there; empty when all is
	node    node     // what is there, when nothing is missing
}

// maxLinks is how many links one path may pass: the kernel's own limit on Linux.
const maxLinks = 40

var (
	errEmpty    = errors.New("empty")
	errNotAbs   = errors.New("neither absolute nor starting with ~/")
	errNoHome   = errors.New("~ cannot be expanded: no home directory")
	errChars    = errors.New("holds a NUL byte or is not UTF-8: no profile can name it")
	errUpBeyond = errors.New("holds .. after a part that does not exist")
)

// locate follows path part by part, as the kernel does: .. leaves the folder that a link led to, not the folder that
// holds the link. A profile must agree with the kernel about where a path leads.
func (b *builder) locate(path string) (place, error) {
	path, err := b.expand(path)
	if err != nil {
		return place{}, err
	}
	w := walk{sys: b.sys, rest: path, cur: "/"}
	if w.node, err = b.sys.lstat("/"); err != nil {
		return place{}, reason(err)
	}
	for w.rest != "" {
		var name string
		name, w.rest, _ = strings.Cut(w.rest, "/")
		if err := w.step(name); err != nil {
			return place{real: w.cur, links: w.links}, reason(err) // as far as it got
		}
	}
	p := place{spelled: filepath.Clean(path), real: w.cur, links: w.links, turns: w.turns, missing: w.missing, node: w.node}
	// Cleaning a path with .. can change what it names. And a path that differs from the stored one in letter case
	// alone is no second spelling: the system always shows the stored one.
	if len(p.links) == 0 || strings.Contains(path, "..") {
		p.spelled = p.real
	}
	return p, nil
}

// expand makes an entry absolute.
func (b *builder) expand(entry string) (string, error) {
	switch {
	case entry == "":
		return "", errEmpty
	case strings.ContainsRune(entry, 0) || !utf8.ValidString(entry):
		return "", errChars
	case entry == "~" || strings.HasPrefix(entry, "~/"):
		if !filepath.IsAbs(b.spec.Home) {
			return "", errNoHome
		}
		return b.spec.Home + entry[1:], nil
	case !filepath.IsAbs(entry):
		return "", errNotAbs
	}
	return entry, nil
}

// walk is a path half followed.
type walk struct {
	sys     facts
	rest    string // parts still to follow
	cur     string // where they start: real, and a folder unless missing is set or node says otherwise
	node    node   // what is at cur
	links   []string
	turns   bool
	missing string
}

func (w *walk) step(name string) error {
	switch {
	case name == "" || name == ".":
		return nil
	case name == ".." && w.missing != "":
		return errUpBeyond
	case w.missing != "":
		w.cur = filepath.Join(w.cur, name)
		return nil
	case !w.node.isDir():
		return syscall.ENOTDIR
	case name == "..":
		return w.enter(filepath.Dir(w.cur))
	}
	next := filepath.Join(w.cur, name)
	n, err := w.sys.lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.cur, w.missing, w.node = next, next, node{}
		return nil
	case err != nil:
		return err
	}
	if w.sys.fold {
		next = filepath.Join(w.cur, w.stored(name, n))
	}
	if n.isLink() {
		return w.follow(next, n.link)
	}
	w.cur, w.node = next, n
	return nil
}

// follow puts what the link at path says in front of the rest.
func (w *walk) follow(path, says string) error {
	if !utf8.ValidString(says) {
		return errChars
	}
	w.turns = w.turns || strings.Trim(w.rest, "/.") == ""
	w.links = append(w.links, path)
	if len(w.links) > maxLinks {
		return syscall.ELOOP
	}
	w.rest = says + "/" + w.rest
	if filepath.IsAbs(says) {
		return w.enter("/")
	}
	return nil // cur is still the folder that holds the link
}

func (w *walk) enter(dir string) (err error) {
	w.cur = dir
	w.node, err = w.sys.lstat(dir)
	return err
}

// stored is the spelling under which the folder keeps the entry that was found as name. On a volume that ignores
// letter case, or how an accent is encoded, the kernel judges a path by its stored spelling. Two names with one
// identity are one entry. If the folder cannot be listed, the name stays as it is: a grant of it then grants nothing,
// and denies do not depend on it.
func (w *walk) stored(name string, n node) string {
	all, err := w.sys.names(w.cur)
	if err != nil {
		return name
	}
	found := ""
	for _, other := range all {
		if other == name {
			return name
		}
		if found != "" && !strings.EqualFold(other, name) {
			continue // hard links share an identity too: the name nearest to what was written wins
		}
		if m, err := w.sys.lstat(filepath.Join(w.cur, other)); err == nil && m.id == n.id {
			found = other
		}
	}
	if found == "" {
		return name
	}
	return found
}

// within says whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || below(path, dir)
}

func below(path, dir string) bool {
	if dir == "/" {
		return path != "/"
	}
	return len(path) > len(dir) && path[len(dir)] == '/' && strings.HasPrefix(path, dir)
}

// reason is the system's own word for what went wrong, without the path: the caller names the entry.
func reason(err error) error {
	var pe *fs.PathError
	for errors.As(err, &pe) {
		err = pe.Err
	}
	return err
}
