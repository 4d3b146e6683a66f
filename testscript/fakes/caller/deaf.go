package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// deaf listens where nobody will ever answer.
func deaf(args []string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	at := &unix.SockaddrUnix{Name: args[0]}
	if err := unix.Bind(fd, at); err != nil {
		return err
	}
	if err := unix.Listen(fd, 0); err != nil {
		return err
	}
	for err == nil { // until one more would have to wait
		var c int
		if c, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
			if err = unix.SetNonblock(c, true); err == nil {
				err = unix.Connect(c, at)
			}
		}
	}
	fmt.Println("ready:", os.Getpid(), err)
	for {
		unix.Select(0, nil, nil, nil, nil)
	}
}

// fill leaves no room for another event, and the descriptor blocking as it was.
func fill(args []string) error {
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for chunk := make([]byte, 4096); ; {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(ready, 0); err != nil || ready[0].Revents&unix.POLLOUT == 0 {
			return err
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		unix.Write(fd, chunk) // as much as there is room for
		if err := unix.SetNonblock(fd, false); err != nil {
			return err
		}
	}
}
