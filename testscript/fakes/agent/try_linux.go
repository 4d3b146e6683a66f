package main

import (
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linuxOperations reach for the terminal and the network by ways that only Linux has; attack has the rest.
var linuxOperations = map[string]operation{
	"tiocsti":   {1, tryTIOCSTI},
	"tioclinux": {1, tryTIOCLINUX},
	"stop-output": {0, func([]string) error { // and dies: nothing could be printed any more
		unix.IoctlSetInt(1, unix.TCXONC, unix.TCOOFF)
		return unix.Kill(unix.Getpid(), unix.SIGKILL)
	}},
	"null-discipline": {0, func([]string) error { // needs no privilege; and dies, for the same reason
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSETD, 27); err != nil { // N_NULL: nothing can be read or written
			return err
		}
		return unix.Kill(unix.Getpid(), unix.SIGKILL)
	}},
	"socket-unix":   {0, func([]string) error { return trySocket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
	"socket-raw":    {0, func([]string) error { return trySocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	"socket-ping":   {0, func([]string) error { return trySocket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }},
	"socket-packet": {0, func([]string) error { return trySocket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	"socketpair":    {0, trySocketpair},
	"dial-abstract": {1, func(a []string) error { return dial("unix", "@"+a[0]) }},
	"new-user":      {0, func([]string) error { return tryNewNamespace(unix.CLONE_NEWUSER) }},
	"new-net":       {0, func([]string) error { return tryNewNamespace(unix.CLONE_NEWNET) }},
}

// tryTIOCSTI TEXT pushes text into standard input's terminal as if typed.
func tryTIOCSTI(a []string) error {
	for i := range len(a[0]) {
		c := a[0][i]
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))); errno != 0 {
			return errno
		}
	}
	return nil
}

func tryTIOCLINUX(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	arg := [16]byte{byte(n)}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCLINUX, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		return errno
	}
	return nil
}

func trySocket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func trySocketpair([]string) error {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.Close(p[0])
		unix.Close(p[1])
	}
	return err
}

// tryNewNamespace starts a child in one: a process with threads may not enter a user namespace itself.
func tryNewNamespace(flag uintptr) error {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"agent", "exit", "0"},
		&syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Cloneflags: flag}})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}
