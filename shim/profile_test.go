package shim

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenProfile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, size int, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(at(name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("good", 10, 0o600)
	put("readable", 10, 0o644)
	put("largest", MaxProfile, 0o400)
	put("larger", MaxProfile+1, 0o600)
	put("group", 10, 0o620)
	put("world", 10, 0o602)
	if err := errors.Join(os.Symlink("good", at("link")), syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, reason := range map[string]string{
		"good": "", "readable": "", "largest": "",
		"larger":    "larger than 1048576 bytes",
		"group":     "writable by other users",
		"world":     "writable by other users",
		"link":      "not a regular file",
		"fifo":      "not a regular file",
		"folder":    "not a regular file",
		"missing":   "no such file or directory",
		"good/file": "not a directory",
	} {
		f, err := openProfile(at(name))
		if f != nil {
			f.Close()
		}
		if reason == "" && err != nil || reason != "" && (err == nil || err.Error() != "sandbox profile "+at(name)+": "+reason) {
			t.Errorf("openProfile(%s): %v, want %q", name, err, reason)
		}
	}
}

func TestCheckProfileOwner(t *testing.T) {
	for _, c := range []struct {
		owner, euid uint32
		ok          bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1000, 0, false}, {1001, 1000, false}} {
		st := &syscall.Stat_t{Mode: syscall.S_IFREG | 0o600, Uid: c.owner}
		if err := checkProfile(st, c.euid); (err == nil) != c.ok {
			t.Errorf("owner %d, caller %d: %v", c.owner, c.euid, err)
		}
	}
}

// A file that grew after it was checked is not read without end.
func TestReadAllProfileIsBounded(t *testing.T) {
	if _, err := readAllProfile(strings.NewReader(strings.Repeat(" ", MaxProfile+1))); err == nil {
		t.Error("read more than the limit")
	}
	if data, err := readAllProfile(strings.NewReader(strings.Repeat(" ", MaxProfile))); err != nil || len(data) != MaxProfile {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
}
