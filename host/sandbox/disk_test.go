package sandbox

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// disk is a file system on paper: what stands at each path, as "dir", "file", "exec", "link TARGET",
// "sock", "char", "block" or, for an executable script, its first line. Parents are made where missing.
// What lies below a home folder belongs to a user, all else to root; "open dir" is one anyone may write.
type disk map[string]string

func (d disk) facts(ignoreCase bool) facts {
	all := maps.Clone(d)
	for path := range d {
		for dir := filepath.Dir(path); all[dir] == ""; dir = filepath.Dir(dir) {
			all[dir] = "dir"
		}
	}
	paths := slices.Sorted(maps.Keys(all))
	find := func(path string) int {
		return slices.IndexFunc(paths, func(p string) bool {
			return p == path || ignoreCase && strings.EqualFold(p, path)
		})
	}
	return facts{
		lstat: func(path string) (node, error) {
			i := find(path)
			if i < 0 {
				return node{}, &fs.PathError{Op: "lstat", Path: path, Err: syscall.ENOENT}
			}
			n := paper(all[paths[i]])
			n.id = [2]uint64{1, uint64(i)}
			if strings.HasPrefix(path, "/Users/") || strings.HasPrefix(path, "/home/") {
				n.uid = 501
			}
			return n, nil
		},
		readOnly: func(dir string) bool { return strings.HasPrefix(dir, "/run/secret") },
		names: func(dir string) ([]string, error) {
			i := find(dir)
			if i < 0 {
				return nil, syscall.ENOENT
			}
			var names []string
			for _, path := range paths {
				if filepath.Dir(path) == paths[i] && path != "/" {
					names = append(names, filepath.Base(path))
				}
			}
			return names, nil
		},
		head: func(path string) ([]byte, error) {
			return []byte(strings.TrimPrefix(all[paths[find(path)]], "exec") + "\n"), nil
		},
	}
}

func paper(what string) node {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "dir":
		return node{mode: fs.ModeDir | 0o755}
	case "open":
		return node{mode: fs.ModeDir | fs.ModeSticky | 0o777}
	case "file":
		return node{mode: 0o644}
	case "link":
		return node{mode: fs.ModeSymlink | 0o777, link: rest}
	case "sock":
		return node{mode: fs.ModeSocket | 0o600}
	case "char":
		return node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}
	case "block":
		return node{mode: fs.ModeDevice | 0o660}
	}
	return node{mode: 0o755} // exec, or a script
}

// mac and linux are small machines: what their systems have, a user's home, one project.
var (
	mac = disk{
		"/tmp": "link private/tmp", "/var": "link private/var", "/etc": "link private/etc",
		"/private/tmp": "open dir", "/private/etc": "dir", "/private/var/select": "dir",
		"/private/var/folders/zz/abc/T": "dir", "/dev/null": "char", "/System/Library": "dir",
		"/usr/bin/env": "exec", "/bin/zsh": "exec", "/usr/local/etc": "dir",
		"/Library/Developer/CommandLineTools/usr/bin/git":         "exec",
		"/Users/ann/code/app":                                     "dir",
		"/Users/ann/.config/relay/settings.json":                  "file",
		"/Users/ann/Library/Application Support/relay-host/state": "dir",
		"/Users/ann/.claude-token":                                "file",
		"/Users/ann/.local/share/claude/versions/2.1.197":         "exec",
		"/Users/ann/.local/bin/claude":                            "link ../share/claude/versions/2.1.197",
	}
	linux = disk{
		"/usr/bin/env": "exec", "/usr/bin/true": "exec", "/usr/bin/python3.11": "exec",
		"/usr/bin/python3": "link python3.11", "/usr/lib/python3.11": "dir", "/usr/local/bin": "dir",
		"/bin": "link usr/bin", "/sbin": "link usr/sbin", "/lib": "link usr/lib", "/usr/sbin": "dir",
		"/etc/resolv.conf":                "link ../run/systemd/resolve/found.conf",
		"/run/systemd/resolve/found.conf": "file",
		"/opt":                            "dir", "/proc/self/maps": "file", "/sys/kernel": "dir",
		"/dev/null": "char", "/dev/urandom": "char", "/dev/tty": "char", "/dev/sda": "block",
		"/dev/shm": "open dir", "/dev/pts/0": "char", "/dev/ptmx": "char", "/dev/mapper/home": "link ../dm-0",
		"/dev/dm-0": "block", "/tmp": "open dir",
		"/home/ann/app":                                  "dir",
		"/home/ann/.config/relay":                        "dir",
		"/home/ann/.ssh/id":                              "file",
		"/home/ann/secrets/token":                        "file",
		"/home/ann/.local/state":                         "dir",
		"/home/ann/.local/bin/claude":                    "link ../share/claude/versions/2.1.197",
		"/home/ann/.local/share/claude/versions/2.1.197": "exec",
	}
)

// and returns a disk that has more on it.
func (d disk) and(more disk) disk {
	all := maps.Clone(d)
	maps.Copy(all, more)
	return all
}

// linuxSpec and macSpec are the least a launch says.
func linuxSpec() Spec {
	return Spec{
		GOOS: "linux", Home: "/home/ann", WorkDir: "/home/ann/app", TempDir: "/tmp/relay-s1",
		Program: "/home/ann/.local/bin/claude", Path: "/usr/local/bin:/usr/bin:/bin",
		Private: []string{"/home/ann/secrets/token", "~/.local/state/relay-host", "~/.config/relay/settings.json"},
	}
}

func macSpec() Spec {
	return Spec{
		GOOS: "darwin", Home: "/Users/ann", WorkDir: "/Users/ann/code/app",
		TempDir: "/var/folders/zz/abc/T/relay-s1", UserTempDir: "/var/folders/zz/abc/T/",
		Program: "/Users/ann/.local/bin/claude", Path: "/usr/bin:/bin",
		Private: []string{
			"~/.claude-token", "~/Library/Application Support/relay-host/state", "~/.config/relay/settings.json",
		},
	}
}
