package credential

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestT06Folders(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, dir string) // with a/b/token in it
		path   string
		reason string // %d is the folder
	}{
		{"own folder", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o777)) }, "a/b/token",
			"other users can write the folder %d/a/b (mode 0777): chmod go-w %d/a/b"},
		{"own folder, group", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o770)) }, "a/b/token",
			"other users can write the folder %d/a/b (mode 0770): chmod go-w %d/a/b"},
		{"folder above", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a", 0o757)) }, "a/b/token",
			"other users can write the folder %d/a (mode 0757): chmod go-w %d/a"},
		{"sticky", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o1777)) }, "a/b/token", ""},
		{"sticky above", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a", 0o1777)) }, "a/b/token", ""},
		{"link's folder", func(t *testing.T, d string) {
			must(t, os.Mkdir(d+"/l", 0o700))
			must(t, os.Symlink("../a/b/token", d+"/l/token"))
			must(t, unix.Chmod(d+"/l", 0o777))
		}, "l/token", "other users can write the folder %d/l (mode 0777): chmod go-w %d/l"},
		{"folder behind a link", func(t *testing.T, d string) {
			must(t, os.Symlink(d+"/a", d+"/l"))
			must(t, unix.Chmod(d+"/a", 0o777))
		}, "l/b/token", "other users can write the folder %d/a (mode 0777): chmod go-w %d/a"},
		{"folder between two links", func(t *testing.T, d string) {
			must(t, os.Mkdir(d+"/m", 0o700))
			must(t, os.Symlink("m/n", d+"/l"))
			must(t, os.Symlink("../a/./b//token", d+"/m/n"))
			must(t, unix.Chmod(d+"/m", 0o777))
		}, "l", "other users can write the folder %d/m (mode 0777): chmod go-w %d/m"},
		{"links in safe folders", func(t *testing.T, d string) {
			must(t, os.Symlink("a/b", d+"/l"))
			must(t, os.Symlink("../../l/token", d+"/a/b/m"))
		}, "l/m", ""},
		{"link in a sticky folder", func(t *testing.T, d string) {
			must(t, unix.Chmod(d, 0o1777))
			must(t, os.Symlink(d+"/a/b/token", d+"/l"))
		}, "l", ""},
		{"folder that is not on the way", func(t *testing.T, d string) { must(t, os.Mkdir(d+"/a/c", 0o777)) }, "a/b/token", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderOf(t)
			must(t, os.Mkdir(dir+"/a", 0o755))
			must(t, os.Mkdir(dir+"/a/b", 0o755))
			write(t, dir+"/a/b/token", "tok", 0o600)
			c.make(t, dir)
			want := "tok"
			if c.reason != "" {
				want = ""
			}
			check(t, dir+"/"+c.path, want, "", strings.ReplaceAll(c.reason, "%d", dir))
		})
	}
}

func TestT06OtherOwners(t *testing.T) {
	asRoot(t)
	const other = 4711
	for _, c := range []struct {
		name, reason string
		give         string
		mode         uint32 // of the folder
	}{
		{"file", "other users can write it (owned by uid 4711)", "token", 0o755},
		{"folder", "other users can write the folder %d (owned by uid 4711)", "", 0o755},
		{"sticky folder", "other users can write the folder %d (owned by uid 4711)", "", 0o1777},
		{"link in a safe folder", "", "link", 0o755},
		{"link in a sticky folder", "other users can replace %d/link (owned by uid 4711)", "link", 0o1777},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderOf(t)
			write(t, dir+"/token", "tok", 0o600)
			must(t, os.Symlink("token", dir+"/link"))
			must(t, unix.Chmod(dir, c.mode))
			must(t, os.Lchown(filepath.Join(dir, c.give), other, other))
			want := "tok"
			if c.reason != "" {
				want = ""
			}
			check(t, dir+"/link", want, "", strings.ReplaceAll(c.reason, "%d", dir))
		})
	}
}

// As Kubernetes lays a secret out and rotates it: a sticky folder that all can write, of root.
func TestT05SymlinkSwap(t *testing.T) {
	dir := folderOf(t)
	must(t, unix.Chmod(dir, 0o1777))
	put := func(version, content string) {
		must(t, os.Mkdir(dir+"/.."+version, 0o755))
		write(t, dir+"/.."+version+"/token", content, 0o600)
		must(t, os.Symlink(".."+version, dir+"/..tmp"))
		must(t, os.Rename(dir+"/..tmp", dir+"/..data"))
	}
	must(t, os.Symlink("..data/token", dir+"/token"))
	put("1", "one")
	check(t, dir+"/token", "one", "", "")
	put("2", "two")
	must(t, os.RemoveAll(dir+"/..1"))
	check(t, dir+"/token", "two", "", "")
}

// A swap may fall between the open and the look at the folders: the answer is a version, never a refusal.
func TestT05SwapDuringRead(t *testing.T) {
	dir := folderOf(t)
	stop, done := make(chan bool), make(chan error)
	write(t, dir+"/token", "tok", 0o600)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if err := os.WriteFile(dir+"/new", []byte("tok"), 0o600); err != nil {
					done <- err
					return
				}
				os.Rename(dir+"/new", dir+"/token")
			}
		}
	}()
	changed := 0
	for range 2000 {
		token, _, err := Read(key, dir+"/token")
		if err != nil && strings.HasSuffix(err.Error(), errChanged.Error()) {
			changed++ // this writer does nothing else; five misses in a row may happen
		} else if err != nil || string(token.Reveal()) != "tok" {
			t.Errorf("read %q, %v", token.Reveal(), err)
			break
		}
	}
	close(stop)
	must(t, <-done)
	if changed > 200 {
		t.Errorf("%d of 2000 reads gave up", changed)
	}
}
