package shim

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// allowStreams lets the target open by name what the caller put on 0, 1 and 2: its terminal, and no other, and a file or
// FIFO in the direction that the descriptor has (X18). The rule stands for the open file itself, so that it does not matter
// by which name the target comes. Landlock needs no rule for a pipe, which is in no folder, and a socket has no name to open.
func (r *ruleset) allowStreams(l *limits, t tree) error {
	for fd := 0; fd <= 2; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		rights := streamRights(fd, st.Mode)
		if rights != fsDevice {
			rights = l.ofStream(fd, nodeOf(&st), st.Nlink == 0, rights, t)
		} else if l.deny.ids[nodeOf(&st).id] {
			continue
		}
		// EBADFD: a file of the kernel's own, such as a memfd, which Landlock does not judge.
		if err := r.allow(fd, rights); err != nil && err != unix.EBADFD {
			return stageFailure("sandbox: descriptor "+strconv.Itoa(fd), err)
		}
	}
	return nil
}

// streamRights are what a descriptor gives its holder already. A folder gives none: its rule would hold for all below it.
// A device that is no terminal may be another one each time it is opened.
func streamRights(fd int, mode uint32) (rights uint64) {
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
		return fsDevice
	}
	if kind := mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFIFO {
		return 0
	}
	if readable(fd) {
		rights |= unix.LANDLOCK_ACCESS_FS_READ_FILE
	}
	if writable(fd) { // it can be emptied as well, also one for appending
		rights |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// ofStream is what the limits leave of the rights on the file n, which is open on fd. One that nobody finds by a name any
// more is in no denied place. Any other whose place cannot be told gets nothing.
func (l *limits) ofStream(fd int, n node, unlinked bool, rights uint64, t tree) uint64 {
	if unlinked || rights == 0 {
		return rights
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return 0
	}
	for at := path; filepath.IsAbs(at); at = filepath.Dir(at) {
		m, err := t.stat(at)
		switch {
		case err != nil, at == path && m != n, l.deny.has(at, m), l.private.has(at, m):
			return 0
		case l.readOnly.has(at, m):
			rights &= fsRead
		}
		if at == "/" {
			return rights
		}
	}
	return 0
}

// has says whether the file n at path is denied itself.
func (d *denies) has(path string, n node) bool { return d.names[path] || d.ids[n.id] }
