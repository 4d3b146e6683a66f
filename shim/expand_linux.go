package shim

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// From policy to Landlock rules. Landlock only grants, to an inode and all that is below it, and the rights of
// all folders above a thing add up. A deny inside a grant therefore takes the grant apart: the folders from the
// grant down to the denied thing may only be listed, everything beside them gets the grant's rights one by one,
// and the denied thing gets nothing (X06). With any other right on those folders the target could replace what
// is denied, rename it, or read what was renamed.

// node is what stands at a path. Things are told apart by inode, since that is what a rule is bound to: a hard
// link to a denied file, or a second mount of a folder above it, would otherwise grant it under another name.
type node struct {
	id   fileID
	kind kind
}

type fileID struct{ dev, ino uint64 }

type kind uint8

const (
	isFile kind = iota // and whatever else is not a folder
	isFolder
	isLink
	isDevice // character device
)

type entry struct {
	name string
	node node
}

// tree is the file system as the expansion sees it. Neither function follows a link.
type tree struct {
	stat func(path string) (node, error)
	list func(folder string) ([]entry, error)
}

// rule is one Landlock rule: rights on the thing at path, and on all below it.
type rule struct {
	path   string
	node   node
	rights uint64
	found  bool // the policy does not name it: if it is gone when the rule is made, nothing is lost
}

// limits are the places in which a grant counts for less, or not at all.
type limits struct {
	deny *denies // no grant counts
	// A grant counts if it is of the place itself or inside it. One of a folder around it gives nothing, or no
	// more than reading.
	private, readOnly *denies
}

// denies holds what is denied, and the folders above, by name and by inode.
type denies struct {
	names, above   map[string]bool
	ids, aboveByID map[fileID]bool
}

// expand turns a policy into rules, in no meaningful order.
func expand(p *Policy, t tree) ([]rule, *denies, error) {
	l := limits{newDenies(), newDenies(), newDenies()}
	for _, list := range []struct {
		to    *denies
		paths []string
	}{{l.deny, p.Deny}, {l.private, p.Private}, {l.readOnly, p.ReadOnly}} {
		for _, path := range list.paths {
			if err := list.to.add(path, t); err != nil {
				return nil, nil, pathFailure("sandbox: deny "+path, err)
			}
		}
	}
	var rules []rule
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
				return nil, nil, pathFailure("sandbox: grant "+path, err)
			}
			if l.deny.below(path) {
				continue // a deny wins, also over a grant inside it
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
	return rules, l.deny, nil
}

func newDenies() *denies {
	return &denies{map[string]bool{}, map[string]bool{}, map[fileID]bool{}, map[fileID]bool{}}
}

// pathFailure explains the one errno whose own words mislead.
func pathFailure(step string, err error) error {
	if err == unix.ELOOP {
		err = errors.New("holds a symbolic link")
	}
	return stageFailure(step, err)
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

// add looks at every folder down to a denied thing. From the first part that is missing, or that cannot be
// searched, only names are known; the nearest folder above is then one that may only be listed, like the rest.
func (d *denies) add(path string, t tree) error {
	d.names[path] = true
	parts := strings.Split(path, "/")
	if path == "/" {
		parts = parts[:1]
	}
	known := true
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		if i == 0 {
			at = "/"
		}
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

// below says whether path is denied, or inside of what is.
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

// at says whether r's thing is denied, over whether something denied is in it.
func (d *denies) at(r rule) bool   { return d.names[r.path] || d.ids[r.node.id] }
func (d *denies) over(r rule) bool { return d.above[r.path] || d.aboveByID[r.node.id] }

// walk is the expansion of one grant.
type walk struct {
	tree
	limits
	seen  map[fileID]bool // folders taken apart: a mount inside itself must not go on for ever
	rules []rule
}

// grant gives r's thing its rights, as far as nothing denied is in it. What was found on the way, and not named by
// the policy, is the one that private and read-only places limit.
func (w *walk) grant(r rule) {
	if r.found && w.readOnly.at(r) {
		r.rights &= fsRead
	}
	switch {
	case w.deny.at(r), r.found && w.private.at(r), r.node.kind == isLink:
		return // a link has no rights of its own; where it leads is granted there or not at all
	case w.deny.over(r), w.private.over(r), r.rights&^fsRead != 0 && w.readOnly.over(r):
		w.takeApart(r)
		return
	}
	if r.node.kind != isFolder {
		r.rights &= fsFile
	}
	w.rules = append(w.rules, r)
}

func (w *walk) takeApart(r rule) {
	if r.node.kind != isFolder || w.seen[r.node.id] {
		return
	}
	w.seen[r.node.id] = true
	listed := r
	listed.rights = fsList
	w.rules = append(w.rules, listed)
	entries, err := w.list(r.path)
	if err != nil {
		return // what cannot be listed cannot be told apart: nothing in it is granted
	}
	for _, e := range entries {
		w.grant(rule{path: strings.TrimSuffix(r.path, "/") + "/" + e.name, node: e.node, rights: r.rights, found: true})
	}
}
