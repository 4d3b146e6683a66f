package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fds lists what came through exec: `fd 5: pipe r`.
func fds([]string) error {
	for n := range 1024 {
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		fmt.Printf("fd %d: %s%s\n", n, fdKind(n), fdFlags(n))
	}
	return nil
}

func fdKind(n int) string {
	var st unix.Stat_t
	if err := unix.Fstat(n, &st); err != nil {
		return "unknown"
	}
	link, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(n))
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFDIR:
		return "dir " + link
	case unix.S_IFREG:
		return "file " + link
	case unix.S_IFCHR, unix.S_IFBLK:
		if isTerminal(n) {
			return "tty"
		}
		return "dev " + link
	}
	return strings.Trim(strings.TrimPrefix(link, "anon_inode:"), "[]")
}

func fdFlags(n int) string {
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err != nil {
		return ""
	}
	out := []string{" r", " w", " rw", ""}[flags&unix.O_ACCMODE]
	if flags&unix.O_NONBLOCK != 0 {
		out += " nonblock"
	}
	return out
}

func printArgs([]string) error {
	for i, a := range os.Args {
		fmt.Printf("arg %d: %s\n", i, a)
	}
	fmt.Println("args:", len(os.Args))
	return nil
}

// env prints all variables, or those named, set or not.
func printEnv(names []string) error {
	if len(names) == 0 {
		env := os.Environ()
		slices.Sort(env)
		for _, e := range env {
			name, value, _ := strings.Cut(e, "=")
			fmt.Printf("env %s: %s\n", name, value)
		}
		return nil
	}
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if !ok {
			value = "(unset)"
		}
		fmt.Printf("env %s: %s\n", name, value)
	}
	return nil
}

// token [fd|dev|proc] [N]: reads descriptor N (5 by default) to its end by itself, through /dev/fd or through
// /proc/self/fd, and then once more.
func readToken(args []string) error {
	mode, n := "fd", 5
	for _, a := range args {
		if i, err := strconv.Atoi(a); err == nil {
			n = i
		} else {
			mode = a
		}
	}
	open := func() (*os.File, error) {
		switch mode {
		case "fd":
			return os.NewFile(uintptr(n), "fd"), nil
		case "dev":
			return os.Open("/dev/fd/" + strconv.Itoa(n))
		case "proc":
			return os.Open("/proc/self/fd/" + strconv.Itoa(n))
		}
		return nil, fmt.Errorf("unknown way %q", mode)
	}
	f, err := open()
	if f == nil || err != nil {
		fmt.Println("token:", errName(err))
		return nil
	}
	data, err := io.ReadAll(f)
	if err != nil {
		fmt.Println("token:", errName(err))
		return nil
	}
	fmt.Println("token.len:", len(data))
	fmt.Printf("token.sha256: %x\n", sha256.Sum256(data))
	if mode != "fd" {
		if f, err = open(); err != nil {
			fmt.Println("token.again:", errName(err))
			return nil
		}
	}
	count, err := f.Read(make([]byte, 1))
	switch {
	case count > 0:
		fmt.Println("token.again: data")
	case err == io.EOF:
		fmt.Println("token.again: EOF")
	default:
		fmt.Println("token.again:", errName(err))
	}
	return nil
}

func readStdin([]string) error {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Println("stdin:", errName(err))
		return nil
	}
	fmt.Println("stdin.len:", len(data))
	fmt.Printf("stdin.sha256: %x\n", sha256.Sum256(data))
	return nil
}

// status prints what the kernel says of this process: privileges, capabilities, filters.
func printStatus([]string) error {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return err
	}
	defer f.Close()
	wanted := []string{"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if slices.Contains(wanted, key) {
			fmt.Printf("%s: %s\n", key, strings.Join(strings.Fields(value), " "))
		}
	}
	return nil
}

var resources = []struct {
	name string
	n    int
}{{"core", unix.RLIMIT_CORE}, {"cpu", unix.RLIMIT_CPU}, {"data", unix.RLIMIT_DATA}, {"fsize", unix.RLIMIT_FSIZE},
	{"stack", unix.RLIMIT_STACK}, {"as", unix.RLIMIT_AS}, {"nproc", unix.RLIMIT_NPROC}}

func printLimits([]string) error {
	text := func(v uint64) string {
		if v == unix.RLIM_INFINITY {
			return "unlimited"
		}
		return strconv.FormatUint(v, 10)
	}
	for _, r := range resources {
		var l unix.Rlimit
		if err := unix.Getrlimit(r.n, &l); err != nil {
			return err
		}
		fmt.Printf("limit %s: %s %s\n", r.name, text(l.Cur), text(l.Max))
	}
	return nil
}

func printIDs([]string) error {
	sid, err := unix.Getsid(0)
	fmt.Printf("pid: %d\nppid: %d\npgid: %d\nsid: %d\n", os.Getpid(), os.Getppid(), unix.Getpgrp(), sid)
	cwd, _ := os.Getwd()
	fmt.Println("cwd:", cwd)
	return err
}

func isTerminal(n int) bool {
	_, err := unix.IoctlGetTermios(n, getTermios)
	return err == nil
}

// tty says which of 0–2 are terminals, and this process's place on its controlling one.
func printTTY([]string) error {
	for n := range 3 {
		fmt.Printf("tty %d: %v\n", n, isTerminal(n))
	}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Println("controlling:", errName(err))
		return nil
	}
	defer unix.Close(fd)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	sid, _ := unix.Getsid(0)
	fmt.Printf("controlling: yes\nforeground: %v\ngroup leader: %v\nsession leader: %v\n",
		err == nil && group == unix.Getpgrp(), unix.Getpgrp() == os.Getpid(), sid == os.Getpid())
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err == nil {
		fmt.Printf("size: %dx%d\n", size.Col, size.Row)
	}
	return err
}

// errName is an error by its short system name, which is the same on every system.
func errName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func signalList(text string) ([]syscall.Signal, error) {
	var list []syscall.Signal
	for _, name := range strings.Split(text, ",") {
		sig := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG"))
		if sig == 0 {
			return nil, fmt.Errorf("unknown signal %q", name)
		}
		list = append(list, sig)
	}
	return list, nil
}
