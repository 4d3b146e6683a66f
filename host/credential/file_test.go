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
		{"socket", func(t *testing.T, d, _ string) {
			t.Chdir(d)
			l, err := net.Listen("unix", "token") // by a relative path: the whole one may be too long for a socket
			must(t, err)
			t.Cleanup(func() { l.Close() })
		}, "", "", "not a regular file"},
		{"device", func(t *testing.T, _, p string) { must(t, os.Symlink("/dev/zero", p)) }, "", "", "not a regular file"},
		{"empty", func(t *testing.T, _, p string) { write(t, p, "", 0o600) }, "", "", "empty"},
		{"white space", func(t *testing.T, _, p string) { write(t, p, "\r\n", 0o600) }, "", "", "empty"},
		{"too large", func(t *testing.T, _, p string) { write(t, p, full+"\n", 0o600) }, "", "", "larger than 4096 bytes"},
		{"far too large", func(t *testing.T, _, p string) {
			write(t, p, "", 0o600)
			must(t, os.Truncate(p, 1<<40))
		}, "", "", "larger than 4096 bytes"},
		{"byte order mark", func(t *testing.T, _, p string) { write(t, p, "\ufefftok", 0o600) }, "", "", "holds a character that no token has"},
		{"group can write", func(t *testing.T, _, p string) { write(t, p, "tok", 0o620) }, "", "", "other users can write it (mode 0620): chmod go-w %d"},
		{"all can write", func(t *testing.T, _, p string) { write(t, p, "tok", 0o602) }, "", "", "other users can write it (mode 0602): chmod go-w %d"},
		{"sticky makes no file safe", func(t *testing.T, _, p string) { write(t, p, "tok", 0o1666) }, "", "", "other users can write it (mode 1666): chmod go-w %d"},
		{"checked before it is read", func(t *testing.T, _, p string) { write(t, p, "", 0o666) }, "", "", "other users can write it (mode 0666): chmod go-w %d"},
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
	if strings.HasPrefix(warning, "other users") {
		warning += ": chmod 600 " + path
	}
	if reason != "" {
		reason = before + strings.ReplaceAll(reason, "%d", path)
	}
	if errText(err) != reason {
		t.Errorf("error %v, want %s", err, reason)
	}
	switch {
	case warning == "" && len(warnings) > 0, warning != "" && (len(warnings) != 1 || warnings[0] != before+warning):
		t.Errorf("warnings %q, want %q", warnings, warning)
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
