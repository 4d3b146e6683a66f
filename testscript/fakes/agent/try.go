package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An operation is one thing that a target may try; nil means that it worked.
type operation struct {
	args int
	run  func(a []string) error
}

var operations = map[string]operation{
	"open":      {1, func(a []string) error { return openClose(a[0], os.O_RDONLY) }},
	"read":      {1, func(a []string) error { _, err := os.ReadFile(a[0]); return err }},
	"readdir":   {1, func(a []string) error { _, err := os.ReadDir(a[0]); return err }},
	"stat":      {1, func(a []string) error { _, err := os.Stat(a[0]); return err }},
	"write":     {1, func(a []string) error { return openClose(a[0], os.O_WRONLY) }},
	"append":    {1, func(a []string) error { return openClose(a[0], os.O_WRONLY|os.O_APPEND) }},
	"create":    {1, func(a []string) error { return openClose(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL) }},
	"truncate":  {1, func(a []string) error { return os.Truncate(a[0], 0) }},
	"mkdir":     {1, func(a []string) error { return syscall.Mkdir(a[0], 0o755) }},
	"rmdir":     {1, func(a []string) error { return syscall.Rmdir(a[0]) }},
	"unlink":    {1, func(a []string) error { return syscall.Unlink(a[0]) }},
	"chmod":     {1, func(a []string) error { return os.Chmod(a[0], 0o644) }},
	"mkfifo":    {1, func(a []string) error { return syscall.Mkfifo(a[0], 0o644) }},
	"link":      {2, func(a []string) error { return syscall.Link(a[0], a[1]) }},
	"symlink":   {2, func(a []string) error { return syscall.Symlink(a[0], a[1]) }},
	"rename":    {2, func(a []string) error { return syscall.Rename(a[0], a[1]) }},
	"exec":      {1, tryExec},
	"kill":      {2, tryKill},
	"dial-unix": {1, func(a []string) error { return dial("unix", a[0]) }},
	"dial-tcp":  {1, func(a []string) error { return dial("tcp", a[0]) }},
	"listen":    {1, tryListen},
}

// try OPERATION PATH…: says whether it works, else the error's system name: `try read /etc/shadow: EACCES`.
func try(args []string) error {
	if len(args) == 0 {
		return errors.New("wants an operation")
	}
	op, ok := operations[args[0]]
	if !ok || len(args) != op.args+1 {
		return fmt.Errorf("unknown operation %q with %d arguments", args[0], len(args)-1)
	}
	fmt.Printf("try %s: %s\n", strings.Join(args, " "), errName(op.run(args[1:])))
	return nil
}

func openClose(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// tryExec starts a program, whatever status it ends with.
func tryExec(a []string) error {
	pid, err := syscall.ForkExec(a[0], []string{a[0]}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

// tryKill SIGNAL PID; signal 0 only asks whether it would be allowed.
func tryKill(a []string) error {
	pid, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	if a[0] == "0" {
		return syscall.Kill(pid, 0)
	}
	list, err := signalList(a[0])
	if err != nil {
		return err
	}
	return syscall.Kill(pid, list[0])
}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, 3*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

func tryListen(a []string) error {
	l, err := net.Listen("tcp", a[0])
	if err != nil {
		return err
	}
	return l.Close()
}
