package state

import (
	"os"
	"slices"
	"testing"
)

func TestNewFolders(t *testing.T) {
	for _, c := range []struct{ known, folders, want []string }{
		{nil, []string{"/a"}, []string{"/a"}},
		{[]string{"/a"}, []string{"/a"}, nil},
		{[]string{"/a"}, []string{"/a/b"}, nil},
		{[]string{"/a/b"}, []string{"/a"}, []string{"/a"}},
		{[]string{"/a"}, []string{"/ab"}, []string{"/ab"}},
		{[]string{"/"}, []string{"/ab"}, nil},
		{nil, []string{"/a", "/a/b", "/c", "/a"}, []string{"/a", "/c"}},
	} {
		if got := newFolders(c.known, c.folders); !slices.Equal(got, c.want) {
			t.Errorf("newFolders(%q, %q) = %q, want %q", c.known, c.folders, got, c.want)
		}
	}
}

func TestGranted(t *testing.T) {
	p := Places{State: t.TempDir() + "/state"}
	for _, folders := range [][]string{{"/a\nb", "/c"}, {"/c/d"}, {"/e"}} {
		if err := p.RememberGranted(folders); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		if got, err := p.Granted(); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	check("/a\nb", "/c", "/e")
	if info, err := os.Stat(p.GrantedFile()); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	f, err := os.OpenFile(p.GrantedFile(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("[]\n\n\"relative\"\n\"/cut"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := p.RememberGranted([]string{"/f"}); err != nil {
		t.Fatal(err)
	}
	check("/a\nb", "/c", "/e", "/f")
	if err := p.RememberGranted(make([]string, 0, 1)); err != nil {
		t.Error(err)
	}
}
