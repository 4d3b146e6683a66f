package llmproxy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestP06DevicePairingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llm-proxy-pairing")
	first, _, err := DevicePairing(path)
	if err != nil || !wellFormed(first.Reveal()) {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again, _, err := DevicePairing(path)
	if err != nil || string(again.Reveal()) != string(first.Reveal()) {
		t.Errorf("not kept: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestP06DevicePairingRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	var wg sync.WaitGroup
	got := make([]string, 16)
	for i := range got {
		wg.Go(func() {
			s, _, err := DevicePairing(path)
			if err != nil {
				t.Error(err)
			}
			got[i] = string(s.Reveal())
		})
	}
	wg.Wait()
	for _, g := range got {
		if g != got[0] {
			t.Fatal("two hosts have two pairings")
		}
	}
}

func TestR04DevicePairingMadeAgain(t *testing.T) {
	good := strings.Repeat("A", 43)
	for _, c := range []struct {
		name    string
		make    func(path string) error
		warning string // "" and failure "": the file is kept
		failure string
	}{
		{"good, with a newline", func(p string) error { return write0(p, good+"\n", 0o600) }, "", ""},
		{"readable by the group", func(p string) error { return write0(p, good, 0o640) }, "mode 0640", ""},
		{"writable by all", func(p string) error { return write0(p, good, 0o602) }, "mode 0602", ""},
		{"empty", func(p string) error { return write0(p, "", 0o600) }, "does not hold a pairing", ""},
		{"huge", func(p string) error { return write0(p, strings.Repeat(good, 100_000), 0o600) }, "does not hold a pairing", ""},
		{"empty folder", func(p string) error { return os.Mkdir(p, 0o700) }, "not a regular file", ""},
		{"fifo", func(p string) error { return syscall.Mkfifo(p, 0o600) }, "not a regular file", ""},
		{"link", func(p string) error { return os.Symlink("/dev/null", p) }, "too many levels", ""},
		{"dangling link", func(p string) error { return os.Symlink(p+"-not-there", p) }, "too many levels", ""},
		{"full folder", func(p string) error { return os.MkdirAll(p+"/d", 0o700) }, "", "directory not empty"},
		{"no folder", func(p string) error { return os.Remove(filepath.Dir(p)) }, "", "no such file"},
	} {
		path := filepath.Join(t.TempDir(), "d", "p")
		os.Mkdir(filepath.Dir(path), 0o700)
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		s, warning, err := DevicePairing(path)
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%s: %v", c.name, err)
		}
		if (warning != "") != (c.warning != "") || !strings.Contains(warning, c.warning) || strings.Contains(warning, good) {
			t.Errorf("%s: warning %q", c.name, warning)
		}
		if kept := string(s.Reveal()) == good; err == nil && (kept != (warning == "") || !wellFormed(s.Reveal())) {
			t.Errorf("%s: kept %v", c.name, kept)
		}
		if again, warning, err := DevicePairing(path); c.failure == "" && (err != nil || warning != "" || string(again.Reveal()) != string(s.Reveal())) {
			t.Errorf("%s: the new one is not kept: %q %v", c.name, warning, err)
		}
	}
	if _, err := os.Stat("/dev/null"); err != nil {
		t.Error("what a link names was removed")
	}
}

func write0(path, content string, mode os.FileMode) error {
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}
