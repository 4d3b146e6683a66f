package sandbox

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// facts is how this package learns about files. It never writes, and it never opens what is not a regular
// file: a FIFO or a device in a path must not hold up, or take part in, a launch.
type facts struct {
	lstat    func(path string) (node, error)
	names    func(dir string) ([]string, error)
	head     func(path string) ([]byte, error) // the first bytes of a regular file
	readOnly func(dir string) bool             // whether the folder is on a mount that nobody can write
	me       uint32                            // the user whose files these are
	fold     bool                              // names may differ in letter case from how they are stored
}

// node is what stands at a path itself, not behind it.
type node struct {
	mode fs.FileMode
	uid  uint32
	id   [2]uint64 // device and inode: two spellings of one name share it
	link string    // what a symbolic link says
}

func (n node) isDir() bool  { return n.mode.IsDir() }
func (n node) isLink() bool { return n.mode&fs.ModeSymlink != 0 }
func (n node) isExec() bool { return n.mode.IsRegular() && n.mode.Perm()&0o111 != 0 }

// othersWrite says whether anyone but root owns the folder or can write in it (X07). A sticky bit does not count here, since
// anyone can still add names. Nor does it help that the group is root's: a group has members.
func (n node) othersWrite() bool { return n.uid != 0 || n.mode.Perm()&0o022 != 0 }

// headLen covers a shebang line: no kernel reads more of one than this.
const headLen = 512

var system = facts{lstat: lstat, names: names, head: head, readOnly: readOnly, me: uint32(os.Geteuid())}

func lstat(path string) (node, error) {
	var st syscall.Stat_t // of os.Lstat, a hundred answers would take 25 KiB
	err := syscall.Lstat(path, &st)
	for err == syscall.EINTR {
		err = syscall.Lstat(path, &st)
	}
	if err != nil {
		return node{}, err
	}
	n := node{mode: modeOf(uint32(st.Mode)), uid: st.Uid, id: [2]uint64{uint64(st.Dev), st.Ino}}
	if n.isLink() {
		n.link, err = os.Readlink(path)
	}
	return n, err
}

// modeOf is the mode as package os has it, without the bits of set-user-ID and set-group-ID.
func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	if m&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func head(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, headLen)
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return buf[:n], err
}

// once returns facts that look at each path once. About a hundred paths lead through the same few folders, and this way
// one profile judges all of them by the same answer.
func (f facts) once() facts {
	type answer struct {
		node node
		err  error
	}
	seen := make(map[string]*answer, 100)
	real := f.lstat
	f.lstat = func(path string) (node, error) {
		a, ok := seen[path]
		if !ok {
			a = &answer{}
			a.node, a.err = real(path)
			seen[path] = a
		}
		return a.node, a.err
	}
	return f
}

// with returns facts in which planned folders exist already.
func (f facts) with(planned map[string]bool, fold bool) facts {
	real := f.lstat
	f.fold = fold
	f.lstat = func(path string) (node, error) {
		n, err := real(path)
		if err != nil && planned[path] {
			return node{mode: fs.ModeDir | 0o700, uid: uint32(os.Getuid())}, nil
		}
		return n, err
	}
	return f
}
