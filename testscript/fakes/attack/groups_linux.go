package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

var groups map[string]func(args []string) ([]attempt, error)

func init() { // not in the declaration: an attempt of one group runs another program of this one
	runtime.LockOSThread() // the main thread is the process, to a tracer
	groups = map[string]func(args []string) ([]attempt, error){
		"file": fileAttempts, "process": processAttempts, "lower": lowerAttempts, "system": systemAttempts,
		"one": oneAttempt, "terminal": terminalAttempts, "open": openAttempts, "trapped": trappedAttempts, "traced": tracedAttempts, "setid": setIDAttempts, "lock": lockAttempts, "network": networkAttempts, "serve": serveAttempts,
	}
}

// call is a system call without a wrapper. What its arguments point at stays where it is.
//
//go:uintptrescapes
func call(nr uintptr, a ...uintptr) error {
	var six [6]uintptr
	copy(six[:], a)
	if _, _, errno := unix.Syscall6(nr, six[0], six[1], six[2], six[3], six[4], six[5]); errno != 0 {
		return errno
	}
	return nil
}

// past is nil for the errors that come only from behind the guard: the attempt got through, to an argument that
// is wrong on purpose.
func past(err error, behind ...syscall.Errno) error {
	for _, errno := range behind {
		if errors.Is(err, errno) {
			return nil
		}
	}
	return err
}

// open opens and closes.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// readThrough opens for reading, and reads: a descriptor that gives nothing is no success.
func readThrough(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Read(fd, make([]byte, 16))
	return err
}

// who finds a process: shim, host or a number.
func who(word string) (int, error) {
	switch word {
	case "shim":
		return os.Getppid(), nil
	case "host":
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", os.Getppid()))
		if err != nil {
			return 0, err
		}
		_, after, _ := strings.Cut(string(data), "\nPPid:")
		line, _, _ := strings.Cut(after, "\n")
		return strconv.Atoi(strings.TrimSpace(line))
	}
	return strconv.Atoi(word)
}

// openAttempts opens each path in whatever way it lets itself be opened.
func openAttempts(args []string) ([]attempt, error) {
	var all []attempt
	for _, path := range args {
		all = append(all, attempt{path, func() error {
			err := open(path, unix.O_RDONLY)
			if err != nil {
				if e := open(path, unix.O_WRONLY); e == nil {
					return nil
				}
			}
			// A device without hardware was reached all the same.
			return past(err, unix.ENXIO, unix.EIO, unix.EBUSY, unix.ENODEV, unix.ENOMEDIUM)
		}})
	}
	return all, nil
}
