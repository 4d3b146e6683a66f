package credential

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func changed(t *testing.T, path string) unix.Timespec {
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	return st.Ctim
}

// TestT06ReaderLooksAgain: a file that was put in place is judged at once, and so is a change of the one that was there.
// Folders that others can write since the last look are noticed within a second.
func TestT06ReaderLooksAgain(t *testing.T) {
	dir := folderOf(t)
	path := dir + "/tok"
	loosened := func() { must(t, os.Chmod(dir, 0o777)) }
	for _, c := range []struct {
		name   string
		change func()
		refuse bool
	}{
		{"nothing", func() {}, false},
		{"other content", func() { write(t, path, "new", 0o600) }, false},
		{"another file, folder in order", func() {
			write(t, dir+"/other", "new", 0o600)
			must(t, os.Rename(dir+"/other", path))
		}, false},
		{"others can write the file", func() { must(t, os.Chmod(path, 0o622)) }, true},
		{"folder loosened, a second later", func() { loosened(); time.Sleep(time.Second) }, true},
		{"folder loosened and another file", func() {
			loosened()
			write(t, dir+"/other", "new", 0o600)
			must(t, os.Rename(dir+"/other", path))
		}, true},
		{"folder loosened and a link to another file", func() {
			loosened()
			write(t, dir+"/other", "new", 0o600)
			must(t, os.Remove(path))
			must(t, os.Symlink("other", path))
		}, true},
		{"folder loosened and a change of the file", func() {
			loosened()
			for before := changed(t, path); changed(t, path) == before; { // the kernel's clock for files may tick every 10 ms only
				must(t, os.Chmod(path, 0o400))
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				must(t, os.RemoveAll(path))
				must(t, os.Chmod(dir, 0o755))
				write(t, path, "tok", 0o600)
				var r Reader
				if _, err := r.ReadFile(path, 10); err != nil {
					t.Fatal(err)
				}
				c.change()
				file, err := r.ReadFile(path, 10)
				if (err != nil) != c.refuse {
					t.Errorf("got %q, %v", file.Data, err)
				}
				want, _ := os.ReadFile(path)
				if err == nil && string(file.Data) != string(want) {
					t.Errorf("read %q, the file has %q", file.Data, want)
				}
			})
		})
	}
}
