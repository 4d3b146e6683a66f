package sandbox

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What lstat says agrees with package os, for each type of file that anybody can make.
func TestLstat(t *testing.T) {
	dir, err := os.MkdirTemp("", "l") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range []error{
		os.WriteFile(at("file"), nil, 0o640), os.Mkdir(at("folder"), 0o700), os.Chmod(at("folder"), 0o750|fs.ModeSticky),
		os.Symlink("file", at("link")), syscall.Mkfifo(at("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{at("file"), at("folder"), at("link"), at("fifo"), at("socket"), "/dev/null"} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := lstat(path)
		if err != nil || got.mode != info.Mode()&^(fs.ModeSetuid|fs.ModeSetgid) {
			t.Errorf("%s: %v, %v, want %v", path, got.mode, err, info.Mode())
		}
		st := info.Sys().(*syscall.Stat_t)
		if got.uid != st.Uid || got.id != [2]uint64{uint64(st.Dev), st.Ino} || got.isLink() != (got.link == "file") {
			t.Errorf("%s: %+v, want %+v", path, got, st)
		}
	}
	for _, path := range []string{at("none"), at("file/x"), "a\x00b"} {
		_, err := lstat(path)
		if _, want := os.Lstat(path); reason(err) != reason(want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
