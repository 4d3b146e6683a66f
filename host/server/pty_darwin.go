package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openPty makes a terminal. The host reads and writes its master; the slave goes to the shim.
func openPty() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("/dev/ptmx: %w", err)
	}
	masterFD := fd
	master = os.NewFile(uintptr(fd), "pty")
	var name [128]byte
	for _, call := range []struct {
		request uint
		arg     *byte
	}{{unix.TIOCPTYGRANT, nil}, {unix.TIOCPTYUNLK, nil}, {unix.TIOCPTYGNAME, &name[0]}} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(call.request), uintptr(unsafe.Pointer(call.arg))); errno != 0 {
			master.Close()
			return nil, nil, fmt.Errorf("pty: %w", errno)
		}
	}
	path, _, _ := bytes.Cut(name[:], []byte{0})
	fd, err = unix.Open(string(path), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	slave = os.NewFile(uintptr(fd), string(path))
	// A kernel queue may refuse a terminal. The runtime then reads it as it is, and a non-blocking read fails when there is
	// nothing to read. A blocking one ends with the session: its leader's end takes the terminal from all who hold it.
	if errors.Is(master.SetReadDeadline(time.Time{}), os.ErrNoDeadline) {
		if err := unix.SetNonblock(masterFD, false); err != nil {
			master.Close()
			slave.Close()
			return nil, nil, fmt.Errorf("pty: %w", err)
		}
	}
	return master, slave, nil
}
