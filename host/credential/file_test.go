package credential

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// folderOf returns a fresh folder, free of links, of mode 0755 whatever the umask.
func folderOf(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

func write(t *testing.T, path, content string, mode uint32) {
	must(t, os.WriteFile(path, []byte(content), 0o600))
	must(t, unix.Chmod(path, mode)) // os.Chmod knows other bits
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asRoot skips a test that gives files away.
func asRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
}

func TestT03T04T06Read(t *testing.T) {
	full := strings.Repeat("a", 4096)
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, dir, path string)
		want    string
		warning string // without "<key> <path>: "
		reason  string // the same
	}{
		{"plain", func(t *testing.T, _, p string) { write(t, p, "tok\n", 0o600) }, "tok", "", ""},
		{"owner may only read", func(t *testing.T, _, p string) { write(t, p, "tok", 0o400) }, "tok", "", ""},
		{"largest", func(t *testing.T, _, p string) { write(t, p, full, 0o600) }, full, "", ""},
		{"group can read", func(t *testing.T, _, p string) { write(t, p, "tok", 0o640) }, "tok", "other users can read it (mode 0640)", ""},
		{"all can read", func(t *testing.T, _, p string) { write(t, p, "tok", 0o644) }, "tok", "other users can read it (mode 0644)", ""},
		{"two names", func(t *testing.T, d, p string) {
			write(t, p, "tok", 0o600)
			must(t, os.Link(p, d+"/other"))
		}, "tok", "has 2 hard links, a sandbox can deny only this one", ""},
		{"missing", func(*testing.T, string, string) {}, "", "", "no such file or directory"},
		{"dangling link", func(t *testing.T, d, p string) { must(t, os.Symlink(d+"/gone", p)) }, "", "", "no such file or directory"},
		{"link to itself", func(t *testing.T, _, p string) { must(t, os.Symlink(p, p)) }, "", "", "too many levels of symbolic links"},
		{"folder", func(t *testing.T, _, p string) { must(t, os.Mkdir(p, 0o700)) }, "", "", "not a regular file"},
		{"FIFO", func(t *testing.T, _, p string) { must(t, unix.Mkfifo(p, 0o600)) }, "", "", "not a regular file"},
		{"device", func(t *testing.T, _, p string) { must(t, os.Symlink("/dev/zero", p)) }, "", "", "not a regular file"},
		{"empty", func(t *testing.T, _, p string) { write(t, p, "", 0o600) }, "", "", "empty"},
		{"white space", func(t *testing.T, _, p string) { write(t, p, "\r\n", 0o600) }, "", "", "empty"},
		{"too large", func(t *testing.T, _, p string) { write(t, p, full+"\n", 0o600) }, "", "", "larger than 4096 bytes"},
		{"far too large", func(t *testing.T, _, p string) {
			write(t, p, "", 0o600)
			must(t, os.Truncate(p, 1<<40))
		}, "", "", "larger than 4096 bytes"},
		{"byte order mark", func(t *testing.T, _, p string) { write(t, p, "\ufefftok", 0o600) }, "", "", "holds a character that no token has"},
		{"group can write", func(t *testing.T, _, p string) { write(t, p, "tok", 0o620) }, "", "", "other users can write it (mode 0620)"},
		{"all can write", func(t *testing.T, _, p string) { write(t, p, "tok", 0o602) }, "", "", "other users can write it (mode 0602)"},
		{"sticky makes no file safe", func(t *testing.T, _, p string) { write(t, p, "tok", 0o1666) }, "", "", "other users can write it (mode 1666)"},
		{"checked before it is read", func(t *testing.T, _, p string) { write(t, p, "", 0o666) }, "", "", "other users can write it (mode 0666)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderOf(t)
			path := dir + "/token"
			c.make(t, dir, path)
			check(t, path, c.want, c.warning, c.reason)
		})
	}
}

// check reads path and compares; warning and reason are without the words that all have in common.
func check(t *testing.T, path, want, warning, reason string) {
	t.Helper()
	before := key + " " + path + ": "
	token, warnings, err := Read(key, path)
	if string(token.Reveal()) != want {
		t.Errorf("read %q, want %q", token.Reveal(), want)
	}
	if reason != "" {
		reason = before + reason
	}
	if errText(err) != reason {
		t.Errorf("error %v, want %s", err, reason)
	}
	switch {
	case warning == "" && len(warnings) > 0, warning != "" && (len(warnings) != 1 || warnings[0] != before+warning):
		t.Errorf("warnings %q, want %q", warnings, warning)
	}
}

func TestT04SocketIsNotRegular(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sock") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := dir + "/token"
	l, err := net.Listen("unix", path)
	must(t, err)
	defer l.Close()
	check(t, path, "", "", "not a regular file")
}

func TestT04NotADirectory(t *testing.T) {
	dir := folderOf(t)
	write(t, dir+"/file", "tok", 0o600)
	check(t, dir+"/file/token", "", "", "not a directory")
}

func TestT06Folders(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, dir string) // with a/b/token in it
		path   string
		reason string // %d is the folder
	}{
		{"own folder", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o777)) }, "a/b/token",
			"other users can write the folder %d/a/b (mode 0777)"},
		{"own folder, group", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o770)) }, "a/b/token",
			"other users can write the folder %d/a/b (mode 0770)"},
		{"folder above", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a", 0o757)) }, "a/b/token",
			"other users can write the folder %d/a (mode 0757)"},
		{"sticky", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a/b", 0o1777)) }, "a/b/token", ""},
		{"sticky above", func(t *testing.T, d string) { must(t, unix.Chmod(d+"/a", 0o1777)) }, "a/b/token", ""},
		{"link's folder", func(t *testing.T, d string) {
			must(t, os.Mkdir(d+"/l", 0o700))
			must(t, os.Symlink("../a/b/token", d+"/l/token"))
			must(t, unix.Chmod(d+"/l", 0o777))
		}, "l/token", "other users can write the folder %d/l (mode 0777)"},
		{"folder behind a link", func(t *testing.T, d string) {
			must(t, os.Symlink(d+"/a", d+"/l"))
			must(t, unix.Chmod(d+"/a", 0o777))
		}, "l/b/token", "other users can write the folder %d/a (mode 0777)"},
		{"folder between two links", func(t *testing.T, d string) {
			must(t, os.Mkdir(d+"/m", 0o700))
			must(t, os.Symlink("m/n", d+"/l"))
			must(t, os.Symlink("../a/./b//token", d+"/m/n"))
			must(t, unix.Chmod(d+"/m", 0o777))
		}, "l", "other users can write the folder %d/m (mode 0777)"},
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

func TestT04NoContentInAnyError(t *testing.T) {
	dir := folderOf(t)
	path := dir + "/token"
	for _, content := range []string{marker + " " + marker, marker + "\x00", strings.Repeat(marker, 300), "\ufeff" + marker} {
		write(t, path, content, 0o600)
		token, warnings, err := Read(key, path)
		if err == nil || shows(err.Error()) != "" || len(warnings) > 0 || !token.Empty() {
			t.Errorf("%v, %q", err, warnings)
		}
	}
}

func TestReadFileLimits(t *testing.T) {
	path := folderOf(t) + "/file"
	for _, size := range []int{0, 1, 4096, 4097, 4098, 9999, 10000, 10001} {
		content := bytes.Repeat([]byte{'x'}, size)
		write(t, path, string(content), 0o600)
		got, err := ReadFile(path, 10000)
		if size > 10000 {
			if errText(err) != "larger than 10000 bytes" {
				t.Errorf("%d bytes: %v", size, err)
			}
		} else if err != nil || !bytes.Equal(got.Data, content) || got.Mode != 0o600 || got.Links != 1 {
			t.Errorf("%d bytes: %d read, mode %o, %d links, %v", size, len(got.Data), got.Mode, got.Links, err)
		}
	}
}

func TestReadFileTakesARelativePath(t *testing.T) {
	dir := folderOf(t)
	write(t, dir+"/file", "x", 0o600)
	t.Chdir(dir)
	if got, err := ReadFile("./file", 10); err != nil || string(got.Data) != "x" {
		t.Errorf("%q, %v", got.Data, err)
	}
}

func TestReadLeavesNoDescriptor(t *testing.T) {
	dir := folderOf(t)
	write(t, dir+"/good", "tok", 0o600)
	write(t, dir+"/bad", "", 0o600)
	write(t, dir+"/open", "tok", 0o666)
	next := func() int {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		unix.Close(fd)
		return fd
	}
	before := next()
	for range 20 {
		for _, name := range []string{"good", "bad", "open", "missing", "."} {
			Read(key, dir+"/"+name)
		}
	}
	if after := next(); after != before {
		t.Errorf("the first free descriptor was %d and is %d", before, after)
	}
}
