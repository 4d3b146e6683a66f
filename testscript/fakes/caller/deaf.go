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
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	for _, size := range []int{4096, 1} {
		for chunk := make([]byte, size); err == nil; {
			_, err = unix.Write(fd, chunk)
		}
		if err != unix.EAGAIN {
			return err
		}
		err = nil
	}
	return unix.SetNonblock(fd, false)
}
