package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linuxOperations reach for other processes, the terminal and the network by ways that only Linux has.
var linuxOperations = map[string]operation{
	"ptrace":      {1, withPID(tryPtrace)},
	"mem":         {1, withPID(func(pid int) error { return openClose(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDWR) })},
	"vm-read":     {1, withPID(tryVMRead)},
	"prlimit":     {1, withPID(func(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, new(unix.Rlimit)) })},
	"pidfd-getfd": {2, tryPidfdGetfd},
	"tiocsti":     {1, tryTIOCSTI},
	"tioclinux":   {1, tryTIOCLINUX},
	"stop-output": {0, func([]string) error { // and dies: nothing could be printed any more
		unix.IoctlSetInt(1, unix.TCXONC, unix.TCOOFF)
		return unix.Kill(unix.Getpid(), unix.SIGKILL)
	}},
	"socket-unix":    {0, func([]string) error { return trySocket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
	"socket-raw":     {0, func([]string) error { return trySocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	"socket-ping":    {0, func([]string) error { return trySocket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }},
	"socket-netlink": {0, func([]string) error { return trySocket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	"socket-packet":  {0, func([]string) error { return trySocket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	"socketpair":     {0, trySocketpair},
	"dial-abstract":  {1, func(a []string) error { return dial("unix", "@"+a[0]) }},
	"dial-mptcp":     {1, func(a []string) error { return tryConnect(a[0], unix.IPPROTO_MPTCP, 0) }},
	"dial-fastopen":  {1, func(a []string) error { return tryConnect(a[0], unix.IPPROTO_TCP, unix.MSG_FASTOPEN) }},
	"new-user":       {0, func([]string) error { return tryNewNamespace(unix.CLONE_NEWUSER) }},
	"new-net":        {0, func([]string) error { return tryNewNamespace(unix.CLONE_NEWNET) }},
	"setns-net":      {1, withPID(trySetns)},
	"mount":          {1, func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") }},
	"chroot":         {1, func(a []string) error { return unix.Chroot(a[0]) }},
	"handle":         {1, tryHandle},
	"io-uring":       {0, tryIOUring},
	"keep-caps":      {0, func([]string) error { return unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0) }},
}

func withPID(run func(pid int) error) func([]string) error {
	return func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return run(pid)
	}
}

func tryPtrace(pid int) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

// tryVMRead asks for a byte at an address that need not be there: EFAULT means that it would be allowed.
func tryVMRead(pid int) error {
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0], Len: 1}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 4096, Len: 1}}, 0)
	return err
}

func tryPidfdGetfd(a []string) error {
	pid, err1 := strconv.Atoi(a[0])
	n, err2 := strconv.Atoi(a[1])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
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

// tryConnect PORT reaches a port of 127.0.0.1, with flags by sending a byte along with the first packet.
func tryConnect(text string, protocol, flags int) error {
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	if flags != 0 {
		return unix.Sendto(fd, []byte("x"), flags, to)
	}
	return unix.Connect(fd, to)
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

func trySetns(pid int) error {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: nothing else is to run on a thread that moved
		result <- unix.Setns(fd, unix.CLONE_NEWNET)
	}()
	return <-result
}

// tryHandle opens a file by its handle, past every path.
func tryHandle(a []string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(".", unix.O_RDONLY|unix.O_CLOEXEC, 0)
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

func tryIOUring([]string) error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
