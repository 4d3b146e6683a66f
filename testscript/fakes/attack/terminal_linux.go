package main

import (
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminalAttempts: what makes a terminal believe that somebody typed.
func terminalAttempts(args []string) ([]attempt, error) {
	var all []attempt
	for _, word := range args {
		fd, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		all = append(all, typing(fmt.Sprintf("fd-%d-", fd), func() (int, error) { return unix.Dup(fd) })...)
	}
	return append(all, typing("tty-", func() (int, error) { return unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0) })...), nil
}

// lockAttempts: what the user finds changed afterwards. Its last attempt takes exclusive mode back.
func lockAttempts([]string) ([]attempt, error) {
	slip := 1 // a line discipline that no shell can be used on
	ask := func(name string, request uintptr, arg uintptr) attempt {
		return attempt{name, func() error { return call(unix.SYS_IOCTL, 0, request, arg) }}
	}
	return []attempt{
		ask("exclusive", unix.TIOCEXCL, 0),
		ask("exclusive-high", 1<<32|unix.TIOCEXCL, 0),
		ask("discipline", unix.TIOCSETD, uintptr(unsafe.Pointer(&slip))),
		ask("console", unix.TIOCCONS, 0),
	}, nil
}

func typing(prefix string, get func() (int, error)) []attempt {
	letter, paste := []byte("!"), make([]byte, 16)
	paste[0] = 3 // paste the selection
	ask := func(request uintptr, arg []byte) func() error {
		return func() error {
			fd, err := get()
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return call(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(unsafe.SliceData(arg))))
		}
	}
	return []attempt{
		{prefix + "push", ask(unix.TIOCSTI, letter)},
		// The kernel looks at the low half of the number alone.
		{prefix + "push-high", ask(1<<32|unix.TIOCSTI, letter)},
		{prefix + "paste", ask(unix.TIOCLINUX, paste)},
	}
}
