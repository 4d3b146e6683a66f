package shim

import (
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// modelTree is a file system in memory: path to node. mounts has one folder show another's entries.
type modelTree struct {
	nodes  map[string]node
	mounts map[string]string
}

// newModelTree makes a tree from lines: "/a/" a folder, "/a/f" a file, "/l@" a link, "/d%" a device, "/h=/a/f" a
// hard link, "/m/=/a/" a second mount of a folder. Folders above are made as needed.
func newModelTree(lines ...string) *modelTree {
	t := &modelTree{map[string]node{}, map[string]string{}}
	t.put("/", isFolder)
	for _, line := range lines {
		name, other, same := strings.Cut(line, "=")
		kind := isFile
		switch name[len(name)-1] {
		case '/':
			kind = isFolder
		case '@':
			kind = isLink
		case '%':
			kind = isDevice
		}
		name = strings.TrimRight(name, "/@%")
		for dir := path.Dir(name); t.nodes[dir].kind != isFolder || t.nodes[dir].id.ino == 0; dir = path.Dir(dir) {
			t.put(dir, isFolder)
		}
		t.put(name, kind)
		if same {
			other = strings.TrimRight(other, "/")
			t.nodes[name] = t.nodes[other]
			if kind == isFolder {
				t.mounts[name] = other
			}
		}
	}
	return t
}

func (t *modelTree) put(name string, k kind) {
	t.nodes[name] = node{fileID{1, uint64(len(t.nodes) + 1)}, k}
}

// real is where a path leads through mounts.
func (t *modelTree) real(name string) string {
	for at, to := range t.mounts {
		if name == at || strings.HasPrefix(name, at+"/") {
			return to + name[len(at):]
		}
	}
	return name
}

func (t *modelTree) stat(name string) (node, error) {
	n, ok := t.nodes[t.real(name)]
	if !ok {
		return node{}, unix.ENOENT
	}
	return n, nil
}

func (t *modelTree) list(dir string) (entries []entry, err error) {
	for name, n := range t.nodes {
		if name != "/" && path.Dir(name) == t.real(dir) {
			entries = append(entries, entry{path.Base(name), n})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

// rights is what the kernel would grant at a path: the sum over the thing and all folders above it, by inode.
func (t *modelTree) rights(rules []rule, name string) (sum uint64) {
	for at := name; ; at = path.Dir(at) {
		for _, r := range rules {
			if n, _ := t.stat(at); r.node.id == n.id {
				sum |= r.rights
			}
		}
		if at == "/" {
			return sum
		}
	}
}

func TestExpand(t *testing.T) {
	names := map[uint64]string{
		fsRead: "read", fsRead & fsFile: "read", fsReadWrite: "write", fsReadWrite & fsFile: "write", fsList: "list", fsDevice: "device",
		fsReadWrite | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV: "write+control",
	}
	for _, c := range []struct {
		name string
		tree []string
		p    Policy
		want string // rules, or the error
	}{
		{"plain", []string{"/usr/", "/w/", "/dev/null%", "/f"},
			Policy{Read: []string{"/usr", "/f"}, ReadWrite: []string{"/w"}, Devices: []string{"/dev/null"}},
			"read /usr, read /f, write /w, device /dev/null"},
		{"deny inside", []string{"/w/a/t", "/w/a/o", "/w/b/", "/w/l@"},
			Policy{ReadWrite: []string{"/w"}, Deny: []string{"/w/a/t"}},
			"list /w, list /w/a, write /w/a/o, write /w/b"},
		{"deny the grant", []string{"/w/t"}, Policy{ReadWrite: []string{"/w"}, Deny: []string{"/w"}}, ""},
		{"grant inside the deny", []string{"/w/t"}, Policy{ReadWrite: []string{"/w/t"}, Read: []string{"/w"}, Deny: []string{"/w"}}, ""},
		{"deny a folder", []string{"/w/s/x", "/w/o"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/s"}}, "list /w, read /w/o"},
		{"deny a missing name", []string{"/w/a/o"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/a/t"}}, "list /w, list /w/a, read /w/a/o"},
		{"deny below a missing folder", []string{"/w/a/o", "/w/b/"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/a/x/y/t"}}, "list /w, list /w/a, read /w/a/o, read /w/b"},
		{"deny below a file", []string{"/w/f", "/w/o"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/f/t"}}, "list /w, read /w/o"},
		{"deny elsewhere", []string{"/w/", "/s/t"}, Policy{Read: []string{"/w"}, Deny: []string{"/s/t"}}, "read /w"},
		{"like the deny by name only", []string{"/w/", "/wx/t"}, Policy{Read: []string{"/w"}, Deny: []string{"/wx/t"}}, "read /w"},
		{"write below read", []string{"/h/p/", "/h/s/t", "/h/o"}, Policy{Read: []string{"/h"}, ReadWrite: []string{"/h/p"}, Deny: []string{"/h/s/t"}},
			"list /h, read /h/o, read /h/p, list /h/s, write /h/p"},
		{"write below read, deny in it", []string{"/h/p/t", "/h/p/o"}, Policy{Read: []string{"/h"}, ReadWrite: []string{"/h/p"}, Deny: []string{"/h/p/t"}},
			"list /h, list /h/p, read /h/p/o, list /h/p, write /h/p/o"},
		{"two denies", []string{"/w/a/t", "/w/a/o", "/w/b/t"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/a/t", "/w/b/t"}},
			"list /w, list /w/a, read /w/a/o, list /w/b"},
		{"root", []string{"/a/t", "/b/"}, Policy{Read: []string{"/"}, Deny: []string{"/a/t"}}, "list /, list /a, read /b"},
		{"deny all", []string{"/a"}, Policy{Read: []string{"/", "/a"}, Deny: []string{"/"}}, ""},
		{"hard link beside", []string{"/w/t", "/w/h=/w/t", "/w/o"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/t"}}, "list /w, read /w/o"},
		{"hard link granted", []string{"/w/t", "/h=/w/t"}, Policy{Read: []string{"/h"}, Deny: []string{"/w/t"}}, ""},
		{"second mount of a folder above", []string{"/w/s/t", "/w/o", "/m/=/w/"}, Policy{Read: []string{"/m"}, Deny: []string{"/w/s/t"}},
			"list /m, read /m/o, list /m/s"},
		{"mount inside itself", []string{"/w/s/t", "/w/o", "/w/m/=/w/"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/s/t"}},
			"list /w, read /w/o, list /w/s"},
		{"private inside", []string{"/h/s/k", "/h/o"}, Policy{ReadWrite: []string{"/h"}, Private: []string{"/h/s"}}, "list /h, write /h/o"},
		{"private, named", []string{"/h/s/k", "/h/o"}, Policy{ReadWrite: []string{"/h"}, Read: []string{"/h/s"}, Private: []string{"/h/s"}},
			"read /h/s, list /h, write /h/o"},
		{"private, one inside named", []string{"/h/s/k", "/h/s/o"}, Policy{ReadWrite: []string{"/h"}, Read: []string{"/h/s/k"}, Private: []string{"/h/s"}},
			"read /h/s/k, list /h"},
		{"private, and a deny inside", []string{"/h/s/k", "/h/s/o"}, Policy{Read: []string{"/h/s"}, Deny: []string{"/h/s/k"}, Private: []string{"/h/s"}},
			"list /h/s, read /h/s/o"},
		{"private and missing", []string{"/h/o"}, Policy{ReadWrite: []string{"/h"}, Private: []string{"/h/s"}}, "list /h, write /h/o"},
		{"private elsewhere", []string{"/h/o", "/p/k"}, Policy{ReadWrite: []string{"/h"}, Private: []string{"/p"}}, "write /h"},
		{"private by a second mount", []string{"/h/s/k", "/h/o", "/m/=/h/"}, Policy{ReadWrite: []string{"/m"}, Private: []string{"/h/s"}}, "list /m, write /m/o"},
		{"read-only inside", []string{"/h/c/f", "/h/o"}, Policy{ReadWrite: []string{"/h"}, ReadOnly: []string{"/h/c"}}, "list /h, read /h/c, write /h/o"},
		{"read-only in what can be read", []string{"/h/c/f"}, Policy{Read: []string{"/h"}, ReadOnly: []string{"/h/c"}}, "read /h"},
		{"read-only, named", []string{"/h/c/f", "/h/o"}, Policy{ReadWrite: []string{"/h", "/h/c"}, ReadOnly: []string{"/h/c"}},
			"list /h, read /h/c, write /h/o, write /h/c"},
		{"private in read-only", []string{"/h/c/k", "/h/c/o"}, Policy{ReadWrite: []string{"/h"}, Private: []string{"/h/c/k"}, ReadOnly: []string{"/h/c"}},
			"list /h, list /h/c, read /h/c/o"},
		{"read-only file and missing", []string{"/h/f", "/h/o"}, Policy{ReadWrite: []string{"/h"}, ReadOnly: []string{"/h/f", "/h/g"}},
			"list /h, read /h/f, write /h/o"},
		{"linked private", []string{"/w/l@"}, Policy{Read: []string{"/w"}, Private: []string{"/w/l"}}, "sandbox: deny /w/l: holds a symbolic link"},
		{"control below /dev only", []string{"/dev/pts/", "/devel/"}, Policy{ReadWrite: []string{"/dev/pts", "/devel"}}, "write+control /dev/pts, write /devel"},
		{"denied device", []string{"/dev/null%"}, Policy{Devices: []string{"/dev/null"}, Deny: []string{"/dev"}}, ""},
		{"missing grant", nil, Policy{Read: []string{"/w"}}, "sandbox: grant /w: no such file or directory"},
		{"linked grant", []string{"/l@"}, Policy{Read: []string{"/l"}}, "sandbox: grant /l: holds a symbolic link"},
		{"linked deny", []string{"/w/l@"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/l/t"}}, "sandbox: deny /w/l/t: holds a symbolic link"},
		{"denied link", []string{"/w/l@"}, Policy{Read: []string{"/w"}, Deny: []string{"/w/l"}}, "sandbox: deny /w/l: holds a symbolic link"},
		{"folder as device", []string{"/dev/"}, Policy{Devices: []string{"/dev"}}, "sandbox: grant /dev: not a character device"},
		{"file as device", []string{"/f"}, Policy{Devices: []string{"/f"}}, "sandbox: grant /f: not a character device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModelTree(c.tree...)
			rules, _, err := expand(&c.p, tree{m.stat, m.list})
			var got []string
			for _, r := range rules {
				got = append(got, names[r.rights]+" "+r.path)
			}
			text := strings.Join(got, ", ")
			if err != nil {
				text = err.Error()
			}
			if text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// What cannot be listed, or looked at, costs rights and never gives any.
func TestExpandUnreadableFolder(t *testing.T) {
	m := newModelTree("/w/a/t", "/w/a/o", "/w/b")
	shut := func(dir string) ([]entry, error) {
		if dir == "/w/a" {
			return nil, unix.EACCES
		}
		return m.list(dir)
	}
	rules, _, err := expand(&Policy{Read: []string{"/w"}, Deny: []string{"/w/a/t"}}, tree{m.stat, shut})
	if err != nil || len(rules) != 3 || m.rights(rules, "/w/a/o") != fsList || m.rights(rules, "/w/b")&fsFile == 0 {
		t.Errorf("%v, %v", rules, err)
	}
	blind := func(name string) (node, error) {
		if strings.HasPrefix(name, "/w/a/") {
			return node{}, unix.EACCES
		}
		return m.stat(name)
	}
	rules, _, err = expand(&Policy{Read: []string{"/w"}, Deny: []string{"/w/a/t"}}, tree{blind, m.list})
	if err != nil || m.rights(rules, "/w/a/t") != fsList {
		t.Errorf("%v, %v", rules, err)
	}
	broken := func(string) (node, error) { return node{}, unix.EIO }
	if _, _, err = expand(&Policy{Deny: []string{"/w/a/t"}}, tree{broken, m.list}); err == nil {
		t.Error("a denied path that gives an input/output error was passed over")
	}
}

// FuzzExpand builds a tree and a policy from bytes. Whatever they are, a denied thing, and what is in it, keeps at
// most the right to be listed; and everything else below a grant has the grant's rights.
func FuzzExpand(f *testing.F) {
	f.Add([]byte{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []byte{1, 0}, []byte{4}, []byte{7, 3}, []byte{5}, []byte{6})
	f.Add([]byte{2, 2, 1, 2, 1, 4, 3, 1, 0, 4, 1, 5, 1}, []byte{0}, []byte{1}, []byte{5}, []byte{2}, []byte{1, 4})
	f.Add([]byte{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []byte{4}, []byte{0, 5}, []byte{}, []byte{1, 6}, []byte{2})
	f.Fuzz(func(t *testing.T, kinds, read, write, deny, private, readOnly []byte) {
		m, all := fuzzTree(kinds)
		pick := func(from []byte, there bool) (paths []string) {
			for _, b := range from[:min(len(from), 4)] {
				name := all[int(b)%len(all)]
				if n, err := m.stat(name); !there || err == nil && n.kind != isLink {
					paths = append(paths, name)
				}
			}
			return paths
		}
		p := &Policy{Read: pick(read, true), ReadWrite: pick(write, true), Deny: pick(deny, false), Private: pick(private, false), ReadOnly: pick(readOnly, false)}
		rules, l, err := expand(p, tree{m.stat, m.list})
		if err != nil {
			return
		}
		for name := range m.nodes {
			checkRights(t, m, p, l.deny, rules, name)
		}
		for _, name := range p.Deny {
			// Below a file there can be nothing; a hard link to that file may well be granted.
			up := path.Dir(name)
			for m.nodes[up].id.ino == 0 {
				up = path.Dir(up)
			}
			if got := m.rights(rules, name) &^ fsList; got != 0 && m.nodes[up].kind == isFolder {
				t.Errorf("denied %s has rights %#x", name, got)
			}
		}
	})
}

func checkRights(t *testing.T, m *modelTree, p *Policy, d *denies, rules []rule, name string) {
	n := m.nodes[name]
	got := m.rights(rules, name)
	linked := 0
	for _, other := range m.nodes {
		if other.id == n.id {
			linked++
		}
	}
	if d.below(name) {
		// A hard link made elsewhere before is a documented limit.
		if got&^fsList != 0 && linked == 1 {
			t.Errorf("%s, below a deny, has rights %#x", name, got)
		}
		return
	}
	want := wanted(p, name)
	if n.kind != isFolder {
		want, got = want&fsFile, got&fsFile
	}
	if linked == 1 && got&^(want|fsList) != 0 {
		t.Errorf("%s has rights %#x, want %#x at most", name, got, want)
	}
	shut := func(list []string) bool {
		return slices.ContainsFunc(list, func(path string) bool { return inside(path, name) || m.nodes[path].id == n.id })
	}
	if linked == 1 && n.kind != isLink && !shut(p.Deny) && !shut(p.Private) && !shut(p.ReadOnly) && got&want != want {
		t.Errorf("%s has rights %#x, want %#x", name, got, want)
	}
}

// wanted are the rights that a policy's grants give the thing at name, and those that private and read-only places leave.
func wanted(p *Policy, name string) (rights uint64) {
	for i, list := range [][]string{p.Read, p.ReadWrite} {
		for _, grant := range list {
			between := func(places []string) bool { // a place inside of the grant, with name in it
				return slices.ContainsFunc(places, func(at string) bool { return at != grant && inside(at, grant) && inside(name, at) })
			}
			switch {
			case !inside(name, grant) || between(p.Private):
			case i == 0 || between(p.ReadOnly):
				rights |= fsRead
			default:
				rights |= fsReadWrite
			}
		}
	}
	return rights
}

func inside(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// fuzzTree has folders three deep, three names each, a byte for the kind of each.
func fuzzTree(kinds []byte) (*modelTree, []string) {
	var lines, all, files []string
	all = append(all, "/")
	for i := 0; i < 12; i++ { // the children of all[i]
		for _, name := range []string{"a", "b", "c"} {
			at := path.Join(all[i], name)
			all = append(all, at)
			k := byte(0)
			if n := len(all) - 2; n < len(kinds) {
				k = kinds[n] % 5
			}
			inFolder := i == 0 || slices.Contains(lines, all[i]+"/")
			switch {
			case !inFolder || k == 0:
			case k == 2:
				lines = append(lines, at+"/")
			case k == 3:
				lines = append(lines, at+"@")
			case k == 4 && len(files) > 0:
				lines = append(lines, at+"="+files[0])
			default:
				lines = append(lines, at)
				files = append(files, at)
			}
		}
	}
	return newModelTree(lines...), all
}
