package llmproxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hostshim/host/credential"
)

func TestP06DevicePairingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llm-proxy-pairing")
	first, err := DevicePairing(path)
	if err != nil || !wellFormed(first.Reveal()) {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again, err := DevicePairing(path)
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
			s, err := DevicePairing(path)
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

func TestP06DevicePairingRefusals(t *testing.T) {
	good := strings.Repeat("A", 43)
	for _, c := range []struct {
		name  string
		make  func(path string) error
		words string
	}{
		{"readable by the group", func(p string) error { return write0(p, good, 0o640) }, "mode 0640"},
		{"writable by all", func(p string) error { return write0(p, good, 0o602) }, "mode 0602"},
		{"empty", func(p string) error { return write0(p, "", 0o600) }, "does not hold a pairing"},
		{"short", func(p string) error { return write0(p, good[1:], 0o600) }, "does not hold a pairing"},
		{"long", func(p string) error { return write0(p, good+"A", 0o600) }, "does not hold a pairing"},
		{"two newlines", func(p string) error { return write0(p, good+"\n\n", 0o600) }, "does not hold a pairing"},
		{"bad character", func(p string) error { return write0(p, good[1:]+"+", 0o600) }, "does not hold a pairing"},
		{"huge", func(p string) error { return write0(p, strings.Repeat(good, 100_000), 0o600) }, "does not hold a pairing"},
		{"folder", func(p string) error { return os.Mkdir(p, 0o700) }, "not a regular file"},
		{"fifo", func(p string) error { return syscall.Mkfifo(p, 0o600) }, "not a regular file"},
		{"link", func(p string) error { return os.Symlink("/dev/null", p) }, "too many levels"},
		{"dangling link", func(p string) error { return os.Symlink(p+"-not-there", p) }, "too many levels"},
		{"no folder", func(p string) error { return os.Remove(filepath.Dir(p)) }, "no such file"},
	} {
		path := filepath.Join(t.TempDir(), "d", "p")
		os.Mkdir(filepath.Dir(path), 0o700)
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		s, err := DevicePairing(path)
		if err == nil || !s.Empty() || !strings.Contains(err.Error(), c.words) || !strings.HasPrefix(err.Error(), fmt.Sprintf("device pairing %q: ", path)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && strings.Contains(err.Error(), good[1:]) {
			t.Errorf("%s: the error holds the content", c.name)
		}
	}
	path := filepath.Join(t.TempDir(), "p")
	if write0(path, good+"\n", 0o600); errOf(DevicePairing(path)) != nil {
		t.Error("a good file with a newline is refused")
	}
}

func errOf(_ credential.Secret, err error) error { return err }

func write0(path, content string, mode os.FileMode) error {
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}
