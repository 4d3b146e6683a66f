package shim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test program plays every part of a launch: under the stage's name the second stage, under probeName a small
// shim ("launch") and its targets.
const probeName = "shim: test probe"

func init() {
	switch {
	case isStage(os.Args):
		// Off the main thread, which keeps the parent-death signal that the start armed: the hardest case.
		status := make(chan int)
		go func() { status <- stageMain(os.Args, os.Environ()) }()
		os.Exit(<-status)
	case len(os.Args) > 1 && os.Args[0] == probeName:
		os.Exit(probe(os.Args[1], os.Args[2:]))
	}
}

func probe(part string, args []string) int {
	switch part {
	case "launch":
		return probeLaunch(args)
	case "report":
		probeReport(args)
	case "open":
		probeOpen(args)
	case "attack":
		pid, _ := strconv.Atoi(args[0])
		probeCalls(pid)
	case "dial":
		for _, addr := range args {
			c, err := net.DialTimeout("tcp", addr, 5*time.Second)
			if err == nil {
				c.Close()
			}
			fmt.Println(addr, errnoName(err))
		}
	case "stay":
		fmt.Println("staying")
		select {}
	}
	return 0
}

// probeLaunch does what the shim does with a sandbox: profile, words (token: one on 5; listener: a socket
// on 6), program, arguments.
func probeLaunch(args []string) int {
	runtime.LockOSThread()
	makeUndumpable()
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Args = args[3:]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var token, listener *os.File
	if strings.Contains(args[1], wordToken) {
		token = os.NewFile(TokenFD, "token")
	}
	if strings.Contains(args[1], wordListener) {
		listener = os.NewFile(ListenerFD, "listener")
	}
	report, err := sandboxed(cmd, args[0], token, listener)
	if err == nil {
		err = startCommand(cmd)
		report.closeChildEnds()
		if err == nil {
			report.release()
			err = report.wait()
		}
	}
	if err != nil {
		var e *stageError
		fmt.Printf("refused: %v (sandbox %v)\n", err, errors.As(err, &e) && e.Sandbox)
		return 1
	}
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Println("started", cmd.Process.Pid, "dumpable", dumpable)
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func errnoName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// probeReport prints what the target was given.
func probeReport(args []string) {
	status, err := os.ReadFile("/proc/self/status")
	fmt.Println("status", errnoName(err))
	for _, line := range strings.Split(string(status), "\n") {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp":
			fmt.Println(name, strings.TrimLeft(strings.TrimSpace(value), "0")+".")
		}
	}
	// The runtime's own descriptors are close-on-exec, inherited ones never.
	for fd := 0; fd < 100; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fmt.Println("descriptor", fd)
		}
	}
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Printf("dumpable %d args %q env %q\n", dumpable, args, os.Getenv("PROBE"))
}

// probeOpen tries each path to read, to write without making it, and to make a file in it.
func probeOpen(paths []string) {
	for _, path := range paths {
		var results []string
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY} {
			fd, err := unix.Open(path, flags|unix.O_NONBLOCK, 0)
			unix.Close(fd)
			results = append(results, errnoName(err))
		}
		made := path + "/made"
		fd, err := unix.Open(made, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o600)
		if unix.Close(fd); err == nil {
			err = unix.Unlink(made)
		}
		fmt.Println(path, strings.Join(append(results, errnoName(err)), " "))
	}
}

// probeCalls tries to reach other processes, the terminal, and capabilities. other is a process outside.
func probeCalls(other int) {
	try := func(name string, nr uintptr, a ...uintptr) {
		var args [6]uintptr
		copy(args[:], a)
		var err error
		if _, _, errno := unix.RawSyscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
			err = errno
		}
		fmt.Println(name, errnoName(err))
	}
	pid := uintptr(other)
	var limit unix.Rlimit
	var buf [128]byte
	space := uintptr(unsafe.Pointer(&buf))
	try("kill", unix.SYS_KILL, pid, uintptr(unix.SIGKILL))
	try("ptrace", unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid)
	try("prlimit", unix.SYS_PRLIMIT64, pid, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)))
	try("prlimit-self", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)))
	try("tiocsti", unix.SYS_IOCTL, 0, unix.TIOCSTI, space)
	try("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	try("clone", unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	try("clone3", unix.SYS_CLONE3, space, 88)
	try("io_uring", unix.SYS_IO_URING_SETUP, 4, space)
	try("x32", foreignBit|unix.SYS_GETPID)
	for _, name := range []string{"environ", "maps", "mem", "root/etc", "fd/0"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", other, name))
		if err == nil {
			_, err = f.Read(buf[:1])
			f.Close()
		}
		fmt.Println(name, errnoName(err))
	}
	for _, c := range []struct {
		name                   string
		family, kind, protocol int
	}{
		{"inet", unix.AF_INET, unix.SOCK_STREAM, 0}, {"unix", unix.AF_UNIX, unix.SOCK_STREAM, 0},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0}, {"route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
	} {
		fd, err := unix.Socket(c.family, c.kind, c.protocol)
		unix.Close(fd)
		fmt.Println(c.name, errnoName(err))
	}
}
