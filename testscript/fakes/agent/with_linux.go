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

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

func addSystemCommands() {
	commands["with"] = with
	for name, op := range linuxOperations {
		operations[name] = op
	}
}

// with [block=S,S] [ignore=S,S] [RESOURCE=N] [nnp] -- PROGRAM ARG…: becomes the program with these
// signals blocked or ignored, this limit (a name of `limits`, or nofile), no new privileges.
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
