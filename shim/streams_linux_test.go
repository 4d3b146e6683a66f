package shim

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file on a descriptor is judged by its place. Where another file has its name by the time of the look, that place says
// nothing about the open one.
func TestX18StreamOfAnotherName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := node{fileID{1, 1}, isFile}
	l := limits{newDenies(), newDenies(), newDenies()}
	for _, c := range []struct {
		name     string
		found    node
		unlinked bool
		want     uint64
	}{
		{"as it was opened", own, false, fsRead},
		{"another file in its place", node{fileID{1, 2}, isFile}, false, 0},
		{"of another file system", node{fileID{2, 1}, isFile}, false, 0},
		{"nobody finds it by a name", node{}, true, fsRead},
	} {
		at := tree{stat: func(name string) (node, error) {
			if name == path {
				return c.found, nil
			}
			return node{fileID{1, 9}, isFolder}, nil
		}}
		if got := l.ofStream(int(f.Fd()), own, c.unlinked, fsRead, at); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	gone := tree{stat: func(string) (node, error) { return node{}, unix.ENOENT }}
	if got := l.ofStream(int(f.Fd()), own, false, fsRead, gone); got != 0 {
		t.Errorf("where it is no more: %#x", got)
	}
}
