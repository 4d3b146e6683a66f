package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links one path may pass.
const maxLinks = 40

// openOwn opens a folder of the host's own part by part, so that nothing is read or written through a link of another
// user's first: root's host may have that user's HOME, in which he may put what he likes. Links of the caller's and of
// root's are followed. With create, what is missing is made, 0700.
func openOwn(path string, create bool) (*os.File, error) {
	w := ownWalk{rest: strings.Split(path, "/"), at: "/"}
	err := w.enter("/")
	for err == nil && len(w.rest) > 0 {
		err = w.step(create)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return os.NewFile(uintptr(w.fd-1), path), nil
}

// ownWalk is a path half followed.
type ownWalk struct {
	fd    int    // the folder reached, plus one; 0: none
	at    string // its path
	rest  []string
	links int
}

func (w *ownWalk) close() {
	if w.fd > 0 {
		unix.Close(w.fd - 1)
		w.fd = 0
	}
}

// enter goes to a folder: by an absolute path, or by a name in the one that was reached.
func (w *ownWalk) enter(name string) error {
	fd, err := unix.Openat(w.fd-1, name, openFolder|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Join(w.at, name), Err: err}
	}
	w.close()
	w.fd = fd + 1
	if w.at = filepath.Join(w.at, name); name == "/" {
		w.at = name
	}
	return nil
}

func (w *ownWalk) step(create bool) error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	if name == "" || name == "." {
		return nil
	}
	var st unix.Stat_t
	path := filepath.Join(w.at, name)
	err := unix.Fstatat(w.fd-1, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT && create {
		// Another host may be faster. Either way what is there then is what counts.
		if err = unix.Mkdirat(w.fd-1, name, 0o700); err == nil || err == unix.EEXIST {
			err = unix.Fstatat(w.fd-1, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
	}
	switch {
	case err != nil:
		return &os.PathError{Op: "open", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFLNK:
		return w.enter(name)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s: a link of user %d's: name a place of your own", path, st.Uid)
	}
	var target [unix.PathMax]byte
	n, err := unix.Readlinkat(w.fd-1, name, target[:])
	if w.links++; err == nil && w.links > maxLinks {
		err = unix.ELOOP
	}
	if err != nil {
		return &os.PathError{Op: "readlink", Path: path, Err: err}
	}
	to := string(target[:n])
	w.rest = append(strings.Split(to, "/"), w.rest...)
	if filepath.IsAbs(to) {
		return w.enter("/")
	}
	return nil
}

// CheckData refuses a data folder, or one in it, that is not the caller's own. One that is missing will be made.
func (p Places) CheckData(folder string) error {
	for _, dir := range []string{p.Data, folder} {
		f, err := openOwn(dir, false)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return err
		}
		owner, err := ownerOf(f)
		f.Close()
		if err != nil {
			return err
		}
		if owner != os.Geteuid() {
			return fmt.Errorf("%s: belongs to user %d: set XDG_DATA_HOME to a folder of your own", dir, owner)
		}
	}
	return nil
}

func ownerOf(f *os.File) (int, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return int(st.Uid), err
}
