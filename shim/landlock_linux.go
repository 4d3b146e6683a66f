package shim

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of each kind of grant. No grant includes making device nodes.
const (
	fsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	fsReadWrite = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	fsDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// fsFile are the rights that make sense on something that is not a folder.
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | fsDevice | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	// fsList is the only right on the folders between a grant and a denied path. A rule holds for everything below its
	// folder. So the names inside a denied folder can be listed as well, though nothing there can be opened: a known limit.
	fsList = unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// handledFS are the file rights that Landlock denies unless granted: all that version abi knows. Versions 6 to 8 add none.
// A right that a version after 9 adds stays allowed, as without Landlock.
func handledFS(abi int) uint64 {
	const first = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // version 1: EXECUTE to MAKE_SYM
	rights := uint64(first)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 9 {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // connecting to a socket with a path that the session did not make
	}
	return rights
}

// scopes keeps signals and abstract Unix sockets inside the sandbox (X08). It needs version 6.
func scopes(abi int) uint64 {
	if abi < 6 {
		return 0
	}
	return unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
}

// landlockABI asks the kernel for its version of Landlock.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	e := &stageError{Sandbox: true, Errno: errno, Step: "sandbox: landlock"}
	switch errno {
	case 0:
		return int(abi), nil
	case unix.ENOSYS:
		e.Errno = unix.EOPNOTSUPP
		e.Reason = "this kernel has no Landlock (5.13 or later needed, built with it)"
	case unix.EOPNOTSUPP:
		e.Reason = "this kernel has Landlock switched off (add landlock to the lsm= boot parameter)"
	case unix.EPERM, unix.EACCES:
		e.Reason = "a container's system-call filter forbids Landlock"
	}
	return 0, e
}

// ruleset is a Landlock ruleset under construction.
type ruleset struct {
	fd      int
	handled uint64
}

// newRuleset makes an empty ruleset.
func newRuleset() (*ruleset, error) {
	abi, err := landlockABI()
	if err != nil {
		return nil, err
	}
	// An older kernel knows only the start of this structure. It accepts the rest if that is zero.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(abi), Scoped: scopes(abi)}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, stageFailure("sandbox: landlock", errno)
	}
	return &ruleset{fd: int(fd), handled: attr.Handled_access_fs}, nil
}

// fill adds the rules of a policy. The shim does so, which keeps its privileges: root can find a denied file in a folder
// that only root can search, and recognise it where a hard link or a mount shows it under another name.
func (r *ruleset) fill(p *Policy) error {
	at := tree{stat: statPath, list: listFolder}
	rules, limits, err := expand(p, at)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := r.allowPath(rule); err != nil && !rule.found {
			return pathFailure("grant", rule.path, err)
		}
	}
	return r.allowStreams(limits, at)
}

// allowPath opens a rule's path again and adds the rule only if the same file is still there. Something that was renamed
// into its place gets no rights. So a race can only cost the target access, never give it any.
func (r *ruleset) allowPath(rule rule) error {
	fd, n, err := openNode(rule.path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if n != rule.node {
		return errors.New("replaced while the sandbox was being made")
	}
	return r.allow(fd, rule.rights)
}

// allow grants rights on what fd refers to, as far as this kernel knows them.
func (r *ruleset) allow(fd int, rights uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	if attr.Allowed_access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// enforce confines this thread and the program that it executes, for good.
func enforce(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return stageFailure("sandbox: landlock", errno)
	}
	return nil
}

// openNode opens a path without following any symbolic link, and says what is there.
func openNode(path string) (int, node, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return -1, node{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, node{}, err
	}
	return fd, nodeOf(&st), nil
}

// statPath says what is at path. It may follow links above the last element. That is safe: a grant is opened again
// without following links when its rule is made, and for a denied path every folder above is checked first.
func statPath(path string) (node, error) {
	var st unix.Stat_t
	err := unix.Fstatat(unix.AT_FDCWD, path, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	return nodeOf(&st), err
}

// listFolder lists a folder. It leaves out entries that it cannot examine, because they are gone or another user's mount.
// Those get no rights.
func listFolder(dir string) ([]entry, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT) == nil {
			entries = append(entries, entry{name, nodeOf(&st)})
		}
	}
	return entries, nil
}

func nodeOf(st *unix.Stat_t) node {
	n := node{id: fileID{uint64(st.Dev), st.Ino}}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		n.kind = isFolder
	case syscall.S_IFLNK:
		n.kind = isLink
	case syscall.S_IFCHR:
		n.kind = isDevice
	}
	return n
}
