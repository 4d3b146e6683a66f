package credential

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links one path may lead through: Linux's own number.
const maxLinks = 40

// writers says why users other than me and root can write what st describes, or "" when they cannot. The group counts as
// other users even if I am its only member, because membership can change without a change of the file. So does an owner who
// is neither me nor root, whatever the mode, because an owner can change the mode.
func writers(st *unix.Stat_t, me uint32) string {
	switch {
	case !trusted(st, me):
		return "owned by " + owner(st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Sprintf("mode %04o", uint32(st.Mode)&0o7777)
	}
	return ""
}

// cure is what the owner can do where a mode lets others write.
func cure(st *unix.Stat_t, me uint32, path string) string {
	if !trusted(st, me) {
		return ""
	}
	return ": chmod go-w " + path
}

// overflowUID stands for every user that a user namespace does not map.
const overflowUID = 65534

// owner names a user. In a user namespace of one user, as unshare -Ur makes, root's own folders have the overflow uid.
func owner(uid uint32) string {
	users, err := os.ReadFile("/proc/self/uid_map")
	if whole := strings.Fields(string(users)); uid == overflowUID && err == nil && !slices.Equal(whole, []string{"0", "0", "4294967295"}) {
		return "a user that this user namespace does not map, who may be anyone: start the host outside it"
	}
	return fmt.Sprintf("uid %d", uid)
}

func trusted(st *unix.Stat_t, me uint32) bool { return st.Uid == 0 || st.Uid == me }

// walk follows the absolute path as the kernel does, name by name and link by link, and returns what it finds at the end.
// It refuses a folder on the way in which other users could replace the next name (T06). Asking by name is safe, because
// up to the folder that the walk has reached only root and me can change what a name leads to.
func walk(path string, me uint32) (st unix.Stat_t, err error) {
	dir, rest, links := "/", names(path), 0
	var at unix.Stat_t // of dir, where known
	known := false
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir, known = filepath.Dir(dir), false // dir has no link in it
			continue
		}
		if !known {
			if err := unix.Lstat(dir, &at); err != nil {
				return st, err
			}
			known = true
		}
		shared, err := folder(dir, &at, me)
		if err != nil {
			return st, err
		}
		next := strings.TrimSuffix(dir, "/") + "/" + name
		if err := unix.Lstat(next, &st); err != nil {
			return st, err
		}
		if shared && !trusted(&st, me) {
			return st, fmt.Errorf("other users can replace %s (owned by %s)", next, owner(st.Uid))
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if links++; links > maxLinks {
				return st, unix.ELOOP
			}
			target, err := readlink(next)
			if err != nil {
				return st, err
			}
			if filepath.IsAbs(target) {
				dir, known = "/", false
			}
			rest = append(names(target), rest...)
		case unix.S_IFDIR:
			dir, at = next, st
		default:
			if len(rest) > 0 {
				return st, unix.ENOTDIR
			}
		}
	}
	return st, nil
}

// folder refuses a folder that other users can write. A sticky one like /tmp is shared instead: in it, only
// the owners of an entry and of the folder can replace the entry.
func folder(dir string, st *unix.Stat_t, me uint32) (shared bool, err error) {
	if trusted(st, me) && st.Mode&unix.S_ISVTX != 0 {
		return st.Mode&0o022 != 0, nil
	}
	if reason := writers(st, me); reason != "" {
		return false, fmt.Errorf("other users can write the folder %s (%s)%s", dir, reason, cure(st, me, dir))
	}
	return false, nil
}

// names splits a path; empty names and "." lead nowhere.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

func readlink(path string) (string, error) {
	buf := make([]byte, 4096+1)
	n, err := unix.Readlink(path, buf)
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}
