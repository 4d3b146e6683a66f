package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// On a real forest of links, .. and all, the walk ends where the system's own does.
func TestLocateAgreesWithTheSystem(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	path := func() string {
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = append(names, "..", ".", "")[r.IntN(len(names)+3)]
		}
		return strings.Join(parts, "/")
	}
	for range 120 {
		at := filepath.Join(root, names[r.IntN(4)], names[r.IntN(4)])
		switch os.MkdirAll(filepath.Dir(at), 0o755); r.IntN(4) {
		case 0:
			os.MkdirAll(at, 0o755)
		case 1:
			os.WriteFile(at, nil, 0o644)
		case 2:
			os.Symlink(path(), at)
		case 3:
			os.Symlink(root+"/"+path(), at)
		}
	}
	b := &builder{sys: system}
	found, absent := 0, 0
	for range 4000 {
		p := root + "/" + path()
		want, wantErr := filepath.EvalSymlinks(p)
		got, err := b.locate(p)
		switch {
		case wantErr == nil && (err != nil || got.missing != "" || got.real != want):
			t.Fatalf("%s: got %q, missing %q, %v; the system says %q", p, got.real, got.missing, err, want)
		case errors.Is(wantErr, syscall.ENOTDIR) && err == nil && strings.HasSuffix(strings.TrimRight(p, "."), "/"):
			absent++ // a slash after a file's name: the entry is taken as it was meant
		case wantErr != nil && err == nil && got.missing == "":
			t.Fatalf("%s: got %q; the system says %v", p, got.real, wantErr)
		case wantErr == nil:
			found++
		default:
			absent++
		}
		if err == nil && got.missing != "" && !within(got.real, got.missing) {
			t.Fatalf("%s: %q is not where %q begins to be missing", p, got.missing, got.real)
		}
	}
	if found < 500 || absent < 500 {
		t.Errorf("%d paths found, %d not: the forest is lopsided", found, absent)
	}
}

func TestFortyLinks(t *testing.T) {
	root := t.TempDir()
	target := "dir"
	if err := os.Mkdir(filepath.Join(root, target), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxLinks + 1 {
		name := fmt.Sprint("l", i)
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		target = name
	}
	b := &builder{sys: system}
	if _, err := b.locate(filepath.Join(root, "l39")); err != nil {
		t.Errorf("40 links: %v", err)
	}
	if _, err := b.locate(filepath.Join(root, "l40")); err != syscall.ELOOP {
		t.Errorf("41 links: %v", err)
	}
}

func TestStoredSpelling(t *testing.T) {
	d := disk{"/Users/ann/Code/Readme": "file", "/Users/ann/x": "link CODE"}
	b := &builder{sys: d.facts(true)}
	for path, want := range map[string]string{
		"/users/ANN/code/README": "/Users/ann/Code/Readme",
		"/users/ann/X/readme":    "/Users/ann/Code/Readme",
		"/users/ann/code/New":    "/Users/ann/Code/New",
	} {
		b.sys.fold = true
		if p, err := b.locate(path); err != nil || p.real != want {
			t.Errorf("%s: got %q, %v; want %q", path, p.real, err, want)
		}
	}
}

// A folder that may not be searched hides what is denied in it, but not from its owner: it is denied whole.
func TestDenyBehindAClosedFolder(t *testing.T) {
	d := linux.and(disk{"/home/ann/closed": "dir"})
	sys := d.facts(false)
	lstat := sys.lstat
	sys.lstat = func(path string) (node, error) {
		if below(path, "/home/ann/closed") {
			return node{}, &os.PathError{Op: "lstat", Path: path, Err: syscall.EACCES}
		}
		return lstat(path)
	}
	spec := linuxSpec()
	spec.Deny = []string{"~/closed/keys/one"}
	r, err := resolve(spec, sys)
	if err != nil || !slices.ContainsFunc(r.denies, func(d denied) bool { return d.real == "/home/ann/closed" }) {
		t.Errorf("%v, %+v", err, r.denies)
	}
	spec.Deny, spec.Read = nil, []string{"~/closed/keys"}
	if _, err := resolve(spec, sys); err == nil || err.Error() != `read "~/closed/keys": permission denied` {
		t.Error(err)
	}
}

// The same on the machine's own files, through Build, and then Prepare.
func TestBuildHere(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(work, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		GOOS: "linux", Home: home, WorkDir: work, TempDir: filepath.Join(root, "tmp"),
		Program: filepath.Join(work, "fifo"), // must not hold up the launch
		Deny:    []string{"~/work/token"}, ReadWrite: []string{"~/.new/state", "~/work/fifo"},
	}
	p, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Fatalf("Build wrote: %v", left)
	}
	for range 2 { // a second launch finds them there
		if err := p.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/.new", "/.new/state"} {
		info, err := os.Stat(home + dir)
		if err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if _, err := os.Stat(spec.TempDir); err == nil {
		t.Error("the temporary directory was made: that is the host's to do and to undo")
	}
}

// Something else at a name by now, a link above all, stops Prepare, and it takes back what it made.
func TestPrepareRefuses(t *testing.T) {
	root := t.TempDir()
	p := Profile{Create: []string{root + "/a", root + "/a/b", root + "/link"}}
	if err := os.Symlink(root, root+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(); err == nil || !strings.Contains(err.Error(), "something else is there") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(root + "/a"); err == nil {
		t.Error("a folder was left behind")
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir     string
		within, below bool
	}{
		{"/a/b", "/a", true, true}, {"/a", "/a", true, false}, {"/ab", "/a", false, false},
		{"/a", "/a/b", false, false}, {"/a", "/", true, true}, {"/", "/", true, false}, {"/", "/a", false, false},
	} {
		if within(c.path, c.dir) != c.within || below(c.path, c.dir) != c.below {
			t.Errorf("%q in %q", c.path, c.dir)
		}
	}
}

func TestMadeLink(t *testing.T) {
	for _, c := range []struct {
		links, granted []string
		want           string
	}{
		{nil, []string{"/a"}, ""},
		{[]string{"/a/l"}, nil, ""},
		{[]string{"/a/l"}, []string{"/a"}, "/a/l"},
		{[]string{"/a/b/l"}, []string{"/a"}, "/a/b/l"},
		{[]string{"/ab/l", "/a/m"}, []string{"/c", "/a"}, "/a/m"},
		{[]string{"/a"}, []string{"/a"}, ""},
		{[]string{"/a/l"}, []string{"/"}, "/a/l"},
		{[]string{"/dev/shm/l"}, nil, "/dev/shm/l"},
	} {
		if got := madeLink(c.links, c.granted); got != c.want {
			t.Errorf("madeLink(%q, %q) = %q, want %q", c.links, c.granted, got, c.want)
		}
	}
}
