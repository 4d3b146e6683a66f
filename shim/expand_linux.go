package shim

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// This file turns a policy into Landlock rules. Landlock can only grant, never deny: a rule grants rights on an inode and
// everything below it, and the rights from all folders above a file add up. So a deny inside a grant splits the grant.
// The folders from the grant down to the denied path may only be listed. Everything beside them gets the grant's rights
// one by one. The denied path gets nothing (X06). With any other right on those folders the target could replace the
// denied file, rename it, or read it after a rename.

// node is the file at a path. Files are compared by inode, because a rule is bound to an inode. Compared by name, a
// denied file would be granted under another name by a hard link to it, or by a second mount of a folder above it.
type node struct {
	id   fileID
	kind kind
}

type fileID struct{ dev, ino uint64 }

type kind uint8

const (
	isFile kind = iota // anything that is none of the others
	isFolder
	isLink
	isDevice // character device
)

type entry struct {
	name string
	node node
}

// tree is the file system. Neither function follows a link in the last element.
type tree struct {
	stat func(path string) (node, error)
	list func(folder string) ([]entry, error)
}

// rule is one Landlock rule: rights on the file at path and on everything below it.
type rule struct {
	path   string
	node   node
	rights uint64
	found  bool // found by listing a folder, not named by the policy: it may be gone when the rule is made
}

// limits are the places where a grant gives less, or nothing.
type limits struct {
	deny *denies // no grant gives anything
	// A grant of the place itself, or inside it, counts in full. A grant of a folder around it gives nothing on a private
	// place, and only reading on a read-only one.
	private, readOnly *denies
}

// denies holds the denied paths and the folders above them, by name and by inode.
type denies struct {
	names, above   map[string]bool
	ids, aboveByID map[fileID]bool
}

// expand turns a policy into rules. Their order has no meaning.
func expand(p *Policy, t tree) ([]rule, *limits, error) {
	l := limits{newDenies(), newDenies(), newDenies()}
	for _, list := range []struct {
		to    *denies
		paths []string
	}{{l.deny, p.Deny}, {l.private, p.Private}, {l.readOnly, p.ReadOnly}} {
		for _, path := range list.paths {
			if err := list.to.add(path, t); err != nil {
				return nil, nil, pathFailure("deny", path, err)
			}
		}
	}
	rules := make([]rule, 0, 32)
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{p.Read, fsRead}, {p.ReadWrite, fsReadWrite}, {p.Devices, fsDevice}} {
		for _, path := range list.paths {
			n, err := t.stat(path)
			if err == nil {
				err = grantable(n, list.rights)
			}
			if err != nil {
				return nil, nil, pathFailure("grant", path, err)
			}
			if l.deny.below(path) {
				continue // a deny wins even over a grant inside it
			}
			rights := list.rights
			if rights == fsReadWrite && (path == "/dev" || strings.HasPrefix(path, "/dev/")) {
				rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
			}
			w := walk{tree: t, limits: l, seen: map[fileID]bool{}, rules: rules}
			w.grant(rule{path: path, node: n, rights: rights})
			rules = w.rules
		}
	}
	return rules, &l, nil
}

func newDenies() *denies {
	return &denies{map[string]bool{}, map[string]bool{}, map[fileID]bool{}, map[fileID]bool{}}
}

// pathFailure is what is wrong with a path of the policy. Of one that holds a symbolic link it says where that leads.
func pathFailure(what, path string, err error) error {
	failed := stageFailure("sandbox: "+what+" "+path, err)
	if real := realPath(path); errors.Is(err, unix.ELOOP) && real != path {
		failed.Reason = "name " + real + " instead"
	}
	return failed
}

// realPath is a path without symbolic links, as far as there is something at it.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil && path != "/" {
		return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
	}
	return real
}

func grantable(n node, rights uint64) error {
	switch {
	case n.kind == isLink:
		return unix.ELOOP
	case rights == fsDevice && n.kind != isDevice:
		return errors.New("not a character device")
	}
	return nil
}

// add records a denied path and every folder above it. Below the first element that is missing or cannot be searched,
// only names are known. The nearest folder that exists may then only be listed, like the others above.
func (d *denies) add(path string, t tree) error {
	d.names[path] = true
	known := true
	for end := 0; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		at := path[:max(end, 1)]
		if at != path {
			d.above[at] = true
		}
		if !known {
			continue
		}
		n, err := t.stat(at)
		switch {
		case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES || err == unix.ENAMETOOLONG:
			known = false
		case err != nil:
			return err
		case n.kind == isLink:
			return unix.ELOOP
		case at == path:
			d.ids[n.id] = true
		case n.kind == isFolder:
			d.aboveByID[n.id] = true
		}
	}
	return nil
}

// below says whether path is denied, or inside a denied folder.
func (d *denies) below(path string) bool {
	for at := path; ; at = at[:strings.LastIndexByte(at, '/')] {
		if at == "" {
			return d.names["/"]
		}
		if d.names[at] {
			return true
		}
	}
}

// at says whether r's file is denied, and over whether something denied is inside it.
func (d *denies) at(r rule) bool   { return d.has(r.path, r.node) }
func (d *denies) over(r rule) bool { return d.above[r.path] || d.aboveByID[r.node.id] }

// walk is the expansion of one grant.
type walk struct {
	tree
	limits
	seen  map[fileID]bool // folders that were split: a folder mounted inside itself must not be split for ever
	rules []rule
}

// grant adds the rule r, or splits it where something denied is inside. Private and read-only places limit only what was
// found by listing a folder, not what the policy names.
func (w *walk) grant(r rule) {
	if r.found && w.readOnly.at(r) {
		r.rights &= fsRead
	}
	switch {
	case w.deny.at(r), r.found && w.private.at(r), r.node.kind == isLink:
		return // a link needs no rights: only the file that it leads to matters
	case w.deny.over(r), w.private.over(r), r.rights&^fsRead != 0 && w.readOnly.over(r):
		w.split(r)
		return
	}
	if r.node.kind != isFolder {
		r.rights &= fsFile
	}
	w.rules = append(w.rules, r)
}

func (w *walk) split(r rule) {
	if r.node.kind != isFolder || w.seen[r.node.id] {
		return
	}
	w.seen[r.node.id] = true
	listed := r
	listed.rights = fsList
	w.rules = append(w.rules, listed)
	entries, err := w.list(r.path)
	if err != nil {
		return // what cannot be listed cannot be split: nothing in it is granted
	}
	for _, e := range entries {
		w.grant(rule{path: strings.TrimSuffix(r.path, "/") + "/" + e.name, node: e.node, rights: r.rights, found: true})
	}
}
