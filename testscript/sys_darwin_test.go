package testscript

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// A process that belongs to a script. Without /proc these are the started programs alone.
type process struct {
	pid, root int
	state     byte
	args      string
	environ   []byte
}

func (s *script) ownProcesses() []process {
	var own []process
	for pid := range s.roots() {
		own = append(own, process{pid: pid, root: pid, state: 'R'})
	}
	return own
}

func cmdFdtable(*script, *call) error { return errors.New("needs /proc: say [linux]") }

func openTerminal(rows, cols uint16) (master, slave int, err error) {
	master, err = syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	var name [128]byte
	for _, step := range []struct {
		request uintptr
		arg     unsafe.Pointer
	}{{syscall.TIOCPTYGRANT, nil}, {syscall.TIOCPTYUNLK, nil}, {syscall.TIOCPTYGNAME, unsafe.Pointer(&name)}} {
		if err = ioctl(master, step.request, step.arg); err != nil {
			break
		}
	}
	if err == nil {
		path, _, _ := strings.Cut(string(name[:]), "\x00")
		slave, err = syscall.Open(path, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	if err == nil {
		err = resizeTerminal(slave, rows, cols)
	}
	if err != nil {
		syscall.Close(master)
	}
	return master, slave, err
}

func resizeTerminal(fd int, rows, cols uint16) error {
	size := [4]uint16{rows, cols}
	return ioctl(fd, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

func haveLandlock() bool { return false }
