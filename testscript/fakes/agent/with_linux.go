package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

func addSystemCommands() {
	commands["with"] = with
	for name, op := range linuxOperations {
		operations[name] = op
	}
}

// with [block=S,S] [ignore=S,S] [RESOURCE=N] [nnp] [nokill] -- PROGRAM ARG…: becomes the program with these
// signals blocked or ignored, this limit (a name of `limits`, or nofile), no new privileges; nokill: a signal by process
// descriptor is never sent, though the call says so.
func with(args []string) error {
	runtime.LockOSThread()
	var mask unix.Sigset_t
	for len(args) > 0 && args[0] != "--" {
		name, value, _ := strings.Cut(args[0], "=")
		args = args[1:]
		if err := prepare(&mask, name, value); err != nil {
			return err
		}
	}
	if len(args) < 2 {
		return errors.New("wants -- and a program")
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil); err != nil {
		return err
	}
	return syscall.Exec(path, args[1:], os.Environ())
}

// pretendToSignal has the kernel answer pidfd_send_signal with success, and do nothing.
func pretendToSignal() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PIDFD_SEND_SIGNAL, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return errno
	}
	return nil
}

func prepare(mask *unix.Sigset_t, name, value string) error {
	switch name {
	case "block", "ignore":
		list, err := signalList(value)
		if err != nil {
			return err
		}
		for _, sig := range list {
			if name == "block" {
				mask.Val[0] |= 1 << (sig - 1)
			} else {
				signal.Ignore(sig) // kept across exec
			}
		}
		return nil
	case "nokill":
		return pretendToSignal()
	case "nnp":
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return fmt.Errorf("unknown word %q", name)
	}
	resource := map[string]int{"nofile": unix.RLIMIT_NOFILE}
	for _, r := range resources {
		resource[r.name] = r.n
	}
	which, ok := resource[name]
	if !ok {
		return fmt.Errorf("unknown limit %q", name)
	}
	// By the bare call: syscall.Setrlimit does more for open files.
	return unix.Prlimit(0, which, &unix.Rlimit{Cur: n, Max: n}, nil)
}
