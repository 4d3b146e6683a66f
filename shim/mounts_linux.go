package shim

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// stageMounts gives the session a view of the file tree of its own (X17), in which everything is read-only and nosuid but
// for what the policy grants for writing, and what it protects there is read-only as well. Landlock cannot do this: it
// does not judge modes, owners and times, and a right on a folder holds for all that is below.
//
// The capability for it comes with the session's own network, and is dropped with the others.
func stageMounts(p *Policy) error {
	if p.Protect == nil {
		return nil
	}
	here, err := workingFolder()
	if err != nil {
		return stageFailure("sandbox: working directory", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return mountFailure("", err)
	}
	// Nothing that is mounted from here on shows outside.
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return mountFailure("", err)
	}
	if err := mountGrants(p.ReadWrite); err != nil {
		return err
	}
	if err := mountProtected(p); err != nil {
		return err
	}
	// The working directory is still the folder below its new mount, where all is read-only.
	if err := here.enter(); err != nil {
		return stageFailure("sandbox: working directory", err)
	}
	return nil
}

// mountGrants makes everything read-only, and mounts each granted folder or file on itself as it was. The copies are taken
// before: what was read-only outside stays so.
func mountGrants(paths []string) error {
	var copies []mountCopy
	defer func() {
		for _, c := range copies {
			c.close()
		}
	}()
	for _, path := range outermost(paths) {
		c, err := copyMount(path)
		if err != nil {
			return mountFailure("grant "+path, err)
		}
		copies = append(copies, c)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return mountFailure("", err)
	}
	for _, c := range copies {
		if err := c.mount(unix.MOUNT_ATTR_NOSUID); err != nil {
			return mountFailure("grant "+c.path, err)
		}
	}
	return nil
}

// mountProtected mounts what is protected on itself, read-only. A name that something is mounted on can be neither renamed
// nor removed nor replaced. So each folder from the grant down is mounted on itself too, or it could be moved away with
// all that is in it.
func mountProtected(p *Policy) error {
	granted, done := setOf(p.ReadWrite), map[string]bool{}
	for _, path := range outermost(p.Protect) {
		above, ok := between(granted, path)
		if !ok {
			continue
		}
		for _, folder := range slices.Backward(above) {
			if done[folder] {
				continue
			}
			done[folder] = true
			if err := mountOnItself(folder, 0); err != nil {
				return err
			}
		}
		if err := mountOnItself(path, unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	return nil
}

func mountOnItself(path string, attr uint64) error {
	c, err := copyMount(path)
	if err == nil {
		defer c.close()
		err = c.mount(attr | unix.MOUNT_ATTR_NOSUID)
	}
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return nil // gone since the host looked: the host says at the end what is new or gone
	} else if err != nil {
		return mountFailure("protect "+path, err)
	}
	return nil
}

// mountCopy is a copy of the mounts at and below a path, not mounted yet.
type mountCopy struct {
	path     string
	at, tree int
}

// copyMount follows no link: the host named real paths.
func copyMount(path string) (c mountCopy, err error) {
	c.path = path
	if c.at, _, err = openNode(path); err != nil {
		return c, err
	}
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH | unix.AT_RECURSIVE
	if c.tree, err = unix.OpenTree(c.at, "", flags); err != nil {
		unix.Close(c.at)
	}
	return c, err
}

func (c *mountCopy) mount(attr uint64) error {
	if err := unix.MountSetattr(c.tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		return err
	}
	return unix.MoveMount(c.tree, "", c.at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func (c *mountCopy) close() {
	unix.Close(c.at)
	unix.Close(c.tree)
}

// folder is a folder by its path and by what it is.
type folder struct {
	path string
	node node
}

func workingFolder() (folder, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Getcwd(buf[:])
	if err != nil {
		return folder{}, err
	}
	f := folder{path: string(buf[:max(n-1, 0)])} // without the NUL
	if !filepath.IsAbs(f.path) {
		return f, errors.New("it cannot be reached by a path")
	}
	f.node, err = statPath(".")
	return f, err
}

func (f folder) enter() error {
	if err := unix.Chdir(f.path); err != nil {
		return err
	}
	if n, err := statPath("."); err != nil {
		return err
	} else if n != f.node {
		return errors.New("replaced while the sandbox was being made")
	}
	return nil
}

// outermost sorts paths and leaves out those that lie below another one.
func outermost(paths []string) []string {
	all := setOf(paths)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(path string) bool {
		for at := path; at != "/"; {
			if at = filepath.Dir(at); all[at] {
				return true
			}
		}
		return false
	})
}

// between lists the folders between a granted one and path, the lowest first. It returns false if path is in no grant:
// then it is read-only already.
func between(granted map[string]bool, path string) (folders []string, ok bool) {
	for at := path; !granted[at]; {
		if at == "/" {
			return nil, false
		}
		if at = filepath.Dir(at); !granted[at] {
			folders = append(folders, at)
		}
	}
	return folders, true
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, path := range paths {
		set[path] = true
	}
	return set
}

// mountFailure says why the session cannot have a view of its own.
func mountFailure(what string, err error) error {
	e := &stageError{Sandbox: true, Step: strings.TrimSpace("sandbox: mount namespace " + what)}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	switch e.Errno {
	case unix.ELOOP:
		e.Reason = ""
	case unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSPC, unix.ENOSYS:
		e.Reason = cmp.Or(e.Reason, `this system does not let a session have one: "protect": false in the template does without, and leaves what your tools run open to it`)
	}
	return e
}
