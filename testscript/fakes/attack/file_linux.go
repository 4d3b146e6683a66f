package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victim is the file under attack.
type victim struct {
	path, dir string // dir: a folder that the attacker may write
	text      []byte // as it was, where it can be read: without a sandbox the file is restored after each attempt
	mode      os.FileMode
}

// fileAttempts: each gets at the content of the file, or puts another in its place.
func fileAttempts(args []string) ([]attempt, error) {
	if len(args) != 2 {
		return nil, errors.New("wants a file and a folder")
	}
	v := &victim{path: args[0], dir: args[1]}
	if data, err := os.ReadFile(v.path); err == nil {
		v.text = data
		info, err := os.Stat(v.path)
		if err != nil {
			return nil, err
		}
		v.mode = info.Mode().Perm()
	}
	all := append(v.reading(), v.naming()...)
	all = append(all, v.writing()...)
	for i, a := range all {
		all[i].run = func() error {
			err := a.run()
			v.restore()
			return err
		}
	}
	return all, nil
}

// restore puts the file back as it was, where an attempt changed it. How that ends is no attempt's success or failure.
func (v *victim) restore() {
	if v.text == nil {
		return
	}
	now, err := os.ReadFile(v.path)
	info, err2 := os.Lstat(v.path)
	if err == nil && err2 == nil && info.Mode() == v.mode && bytes.Equal(now, v.text) {
		return
	}
	os.Remove(v.path)
	if err := os.WriteFile(v.path, v.text, v.mode); err != nil {
		fmt.Fprintln(os.Stderr, "attack: error: cannot restore:", err)
		os.Exit(99)
	}
}

// in is a name in the attacker's folder.
func (v *victim) in(name string) string { return filepath.Join(v.dir, ".attack-"+name) }

// beside is a name in the file's own folder.
func (v *victim) beside(name string) string { return v.path + "." + name }

func (v *victim) reading() []attempt {
	parent, base := filepath.Split(v.path)
	return []attempt{
		{"read", func() error { return readThrough(v.path) }},
		{"read-dotdot", func() error { return readThrough(v.dir + strings.Repeat("/..", strings.Count(v.dir, "/")) + v.path) }},
		{"read-root", func() error { return readThrough("/proc/self/root" + v.path) }},
		{"read-task-root", func() error {
			return readThrough(fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), unix.Gettid(), v.path))
		}},
		{"read-cwd", func() error { return v.from(parent, func() error { return readThrough("/proc/self/cwd/" + base) }) }},
		{"read-at", func() error { return v.from(parent, func() error { return readThrough(base) }) }},
		{"read-path-fd", func() error { return v.viaPath("/proc/self/fd/%d") }},
		{"read-dev-fd", func() error { return v.viaPath("/dev/fd/%d") }},
		{"read-symlink", v.viaSymlink},
		{"read-folder-link", v.viaFolderLink},
		{"read-hard-link", v.viaHardLink},
		{"read-hard-link-fd", v.viaHardLinkFD},
		{"read-handle", v.viaHandle},
		{"read-renamed", func() error {
			defer os.Remove(v.in("renamed"))
			if err := unix.Rename(v.path, v.in("renamed")); err != nil {
				return err
			}
			return readThrough(v.in("renamed"))
		}},
		{"read-parent-renamed", func() error { return v.renamed(filepath.Dir(v.path)) }},
		{"read-grandparent-renamed", func() error { return v.renamed(filepath.Dir(filepath.Dir(v.path))) }},
		{"exec", func() error { return v.execute(v.path) }},
		{"exec-fd", func() error {
			return v.viaPathDo(func(fd int) error { return v.execute(fmt.Sprintf("/proc/self/fd/%d", fd)) })
		}},
	}
}

// from does something with another working directory.
func (v *victim) from(dir string, do func() error) error {
	old, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	defer unix.Chdir(old)
	return do()
}

// viaPathDo opens the file as a mere place, which is allowed anywhere, and goes on from there.
func (v *victim) viaPathDo(do func(fd int) error) error {
	fd, err := unix.Open(v.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func (v *victim) viaPath(format string) error {
	return v.viaPathDo(func(fd int) error { return readThrough(fmt.Sprintf(format, fd)) })
}

func (v *victim) viaSymlink() error {
	defer os.Remove(v.in("symlink"))
	if err := unix.Symlink(v.path, v.in("symlink")); err != nil {
		return err
	}
	return readThrough(v.in("symlink"))
}

func (v *victim) viaFolderLink() error {
	defer os.Remove(v.in("folder-link"))
	if err := unix.Symlink(filepath.Dir(v.path), v.in("folder-link")); err != nil {
		return err
	}
	return readThrough(filepath.Join(v.in("folder-link"), filepath.Base(v.path)))
}

func (v *victim) viaHardLink() error {
	defer os.Remove(v.in("hard-link"))
	if err := unix.Link(v.path, v.in("hard-link")); err != nil {
		return err
	}
	return readThrough(v.in("hard-link"))
}

func (v *victim) viaHardLinkFD() error {
	return v.viaPathDo(func(fd int) error {
		defer os.Remove(v.in("hard-link-fd"))
		from := fmt.Sprintf("/proc/self/fd/%d", fd)
		if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, v.in("hard-link-fd"), unix.AT_SYMLINK_FOLLOW); err != nil {
			return err
		}
		return readThrough(v.in("hard-link-fd"))
	})
}

// viaHandle opens the file by its number in the file system, past every path.
func (v *victim) viaHandle() error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, v.path, 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(v.dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// renamed moves a folder above the file and reads the file there.
func (v *victim) renamed(folder string) error {
	to := v.in("moved")
	if err := unix.Rename(folder, to); err != nil {
		return err
	}
	defer unix.Rename(to, folder)
	return readThrough(to + strings.TrimPrefix(v.path, folder))
}

// execute starts the file as a program. That its content is none is known only to who may read it.
func (v *victim) execute(path string) error {
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err == nil {
		syscall.Wait4(pid, nil, 0, nil)
	}
	return past(err, unix.ENOEXEC)
}

// naming takes the file's name away from it, or puts names where it could be looked for.
func (v *victim) naming() []attempt {
	return []attempt{
		{"unlink", func() error { return unix.Unlink(v.path) }},
		{"rename-over", func() error {
			defer os.Remove(v.in("new"))
			if err := os.WriteFile(v.in("new"), []byte("x"), 0o600); err != nil {
				return err
			}
			return unix.Rename(v.in("new"), v.path)
		}},
		{"exchange", func() error {
			defer os.Remove(v.in("other"))
			if err := os.WriteFile(v.in("other"), []byte("x"), 0o600); err != nil {
				return err
			}
			return unix.Renameat2(unix.AT_FDCWD, v.in("other"), unix.AT_FDCWD, v.path, unix.RENAME_EXCHANGE)
		}},
		{"whiteout", func() error {
			defer os.Remove(v.in("white"))
			return unix.Renameat2(unix.AT_FDCWD, v.path, unix.AT_FDCWD, v.in("white"), unix.RENAME_WHITEOUT)
		}},
		{"create-beside", func() error {
			defer os.Remove(v.beside("new"))
			return open(v.beside("new"), unix.O_WRONLY|unix.O_CREAT)
		}},
		{"link-beside", func() error { defer os.Remove(v.beside("link")); return unix.Link(v.path, v.beside("link")) }},
		{"symlink-beside", func() error { defer os.Remove(v.beside("sym")); return unix.Symlink("/dev/null", v.beside("sym")) }},
		{"mkdir-beside", func() error { defer os.Remove(v.beside("dir")); return unix.Mkdir(v.beside("dir"), 0o755) }},
		{"fifo-beside", func() error { defer os.Remove(v.beside("fifo")); return unix.Mkfifo(v.beside("fifo"), 0o600) }},
		{"tmpfile-beside", func() error { return open(filepath.Dir(v.path), unix.O_WRONLY|unix.O_TMPFILE) }},
		{"socket-beside", func() error {
			defer os.Remove(v.beside("sock"))
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			// Through the folder's descriptor: a socket's address is short.
			dir, err := unix.Open(filepath.Dir(v.path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(dir)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s.sock", dir, filepath.Base(v.path))})
		}},
	}
}

func (v *victim) writing() []attempt {
	return []attempt{
		{"write", func() error { return open(v.path, unix.O_WRONLY) }},
		{"append", func() error { return open(v.path, unix.O_WRONLY|unix.O_APPEND) }},
		{"read-write", func() error { return open(v.path, unix.O_RDWR) }},
		{"open-truncate", func() error { return open(v.path, unix.O_WRONLY|unix.O_TRUNC) }},
		{"open-create", func() error { return open(v.path, unix.O_WRONLY|unix.O_CREAT) }},
		{"truncate", func() error { return unix.Truncate(v.path, 0) }},
		{"write-root", func() error { return open("/proc/self/root"+v.path, unix.O_WRONLY) }},
		{"write-path-fd", func() error {
			return v.viaPathDo(func(fd int) error { return open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY) })
		}},
		{"open-how", func() error {
			how := unix.OpenHow{Flags: unix.O_RDWR | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV}
			p, err := unix.BytePtrFromString(filepath.Base(v.path))
			if err != nil {
				return err
			}
			return v.from(filepath.Dir(v.path), func() error {
				at := unix.AT_FDCWD
				return call(unix.SYS_OPENAT2, uintptr(at), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how))
			})
		}},
	}
}
