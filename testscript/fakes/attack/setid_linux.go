package main

import (
	"errors"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setIDAttempts: each makes a file or folder with a set-ID mode. One that the kernel accepts and strips is no success.
func setIDAttempts(args []string) ([]attempt, error) {
	if len(args) != 1 {
		return nil, errors.New("wants a folder")
	}
	path := filepath.Join(args[0], ".attack-setid")
	var all []attempt
	for _, c := range append(modeCalls, oldModeCalls...) {
		for _, mode := range []struct {
			name string
			bits uint32
		}{{"user", 0o4755}, {"group", 0o2755}} {
			all = append(all, attempt{c.name + "-" + mode.name, func() error {
				os.Remove(path)
				defer os.Remove(path)
				err := c.make(path, mode.bits)
				var st unix.Stat_t
				if err == nil && unix.Stat(path, &st) == nil && st.Mode&mode.bits&0o6000 == 0 {
					err = errors.New("stripped")
				}
				return err
			}})
		}
	}
	return all, nil
}

type modeCall struct {
	name string
	make func(path string, mode uint32) error
}

var modeCalls = []modeCall{
	{"fchmod", func(path string, mode uint32) error {
		return onFile(path, func(fd int) error { return unix.Fchmod(fd, mode) })
	}},
	{"fchmodat", func(path string, mode uint32) error {
		return onFile(path, func(int) error { return call(unix.SYS_FCHMODAT, at(), uintptr(text(path)), uintptr(mode)) })
	}},
	{"fchmodat2", func(path string, mode uint32) error {
		return onFile(path, func(int) error { return call(unix.SYS_FCHMODAT2, at(), uintptr(text(path)), uintptr(mode), 0) })
	}},
	{"fchmod-high", func(path string, mode uint32) error {
		return onFile(path, func(fd int) error { return call(unix.SYS_FCHMOD, uintptr(fd), 1<<32|uintptr(mode)) })
	}},
	{"openat", func(path string, mode uint32) error {
		return closed(unix.Openat(unix.AT_FDCWD, path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, mode))
	}},
	{"openat-tmpfile", func(path string, mode uint32) error {
		fd, err := unix.Openat(unix.AT_FDCWD, filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
		return closed(fd, err)
	}},
	{"openat2", func(path string, mode uint32) error {
		how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: uint64(mode)}
		return closed(unix.Openat2(unix.AT_FDCWD, path, &how))
	}},
	{"mkdirat", func(path string, mode uint32) error { return unix.Mkdirat(unix.AT_FDCWD, path, mode) }},
	{"mknodat", func(path string, mode uint32) error {
		return unix.Mknodat(unix.AT_FDCWD, path, unix.S_IFREG|mode, 0)
	}},
}

func at() uintptr { dir := unix.AT_FDCWD; return uintptr(dir) }

func text(s string) unsafe.Pointer {
	p, _ := unix.BytePtrFromString(s)
	return unsafe.Pointer(p)
}

func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// onFile makes an ordinary file first.
func onFile(path string, change func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return change(fd)
}
