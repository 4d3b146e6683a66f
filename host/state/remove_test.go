package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// deep makes nested folders, which no single path could name.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range levels {
		if err == nil {
			err = unix.Mkdirat(at, "d", 0o700)
		}
		var next int
		if err == nil {
			next, err = unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
}

func TestH14DeepFolderNeedsFewDescriptors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "relay-1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	deep(t, dir, 3000)
	var before, few syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before)
	few = before
	few.Cur = 64
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few)
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
	if err := RemoveTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestH14RemoveTree(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	dir := filepath.Join(base, "relay-2")
	for _, path := range []string{outside + "/kept", dir + "/a/b/c/d", dir + "/wide", dir + "/shut/in"} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		os.WriteFile(fmt.Sprintf("%s/wide/%d", dir, i), nil, 0o600)
		os.Mkdir(fmt.Sprintf("%s/wide/d%d", dir, i), 0o700)
	}
	os.Symlink(outside, dir+"/a/b/link")
	os.Symlink(outside, dir+"/link")
	unix.Mkfifo(dir+"/a/fifo", 0o600)
	os.Chmod(dir+"/shut/in", 0)
	os.Chmod(dir+"/shut", 0)
	os.Chmod(dir, 0o500)
	done := DiscardWithin(dir, func(err error) { t.Error(err) })
	<-done
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	if _, err := os.Stat(outside + "/kept"); err != nil {
		t.Error(err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	os.WriteFile(dir, nil, 0o600)
	if err := RemoveTree(dir); err == nil || !strings.Contains(err.Error(), "relay-2") {
		t.Errorf("a file: %v", err)
	}
	said := ""
	<-DiscardWithin(dir, func(err error) { said += err.Error() })
	if !strings.Contains(said, dir+goneSuffix) || !strings.HasSuffix(said, "; it is tried again later") {
		t.Errorf("what cannot be removed: %q", said)
	}
}

// Whoever puts a link in a folder's place while that is removed does not empty a folder outside.
func TestH14RemoveTreeFollowsNoSwappedLink(t *testing.T) {
	base := t.TempDir()
	outside, dir := filepath.Join(base, "outside"), filepath.Join(base, "relay-3")
	const files = 50
	for i := range files {
		os.MkdirAll(fmt.Sprintf("%s/%d", outside, i), 0o700)
	}
	for _, victim := range []string{dir + "/a/b", dir + "/a", dir} {
		for range 8 {
			for i := range 20 {
				if err := os.MkdirAll(fmt.Sprintf("%s/a/b/%d", dir, i), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			os.Symlink(outside, base+"/link")
			stop, stopped := make(chan bool), make(chan bool)
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						swap(base+"/link", victim)
					}
				}
			}()
			RemoveTree(dir) // it may well fail
			close(stop)
			<-stopped
			if left, _ := os.ReadDir(outside); len(left) != files {
				t.Fatalf("%s: of the folder outside %d of %d are left", victim, len(left), files)
			}
			for _, path := range []string{base + "/link", dir} {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
