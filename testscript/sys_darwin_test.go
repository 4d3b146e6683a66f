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

func openTerminal() (p [2]int, err error) {
	if p[0], err = syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err != nil {
		return p, err
	}
	var name [128]byte
	for request, arg := range map[uintptr]unsafe.Pointer{syscall.TIOCPTYGRANT: nil, syscall.TIOCPTYUNLK: nil, syscall.TIOCPTYGNAME: unsafe.Pointer(&name)} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(p[0]), request, uintptr(arg)); errno != 0 {
			return p, os.NewSyscallError("ioctl", errno)
		}
	}
	path, _, _ := strings.Cut(string(name[:]), "\x00")
	p[1], err = syscall.Open(path, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	return p, err
}

func landlockVersion() int { return 0 }
