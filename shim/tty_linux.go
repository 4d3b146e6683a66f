package shim

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

func exclusive(fd int) int {
	n, _ := unix.IoctlGetInt(fd, unix.TIOCGEXCL)
	return n
}

func discipline(fd int) int {
	n, _ := unix.IoctlGetInt(fd, unix.TIOCGETD)
	return n
}

func setDiscipline(fd, n int) { unix.IoctlSetPointerInt(fd, unix.TIOCSETD, n) }

// startOutput undoes a stop of the output, by ^S or by the target.
func startOutput(fd int) { unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOON) }

// mayRead says whether this process's group has its terminal's foreground. It reads zero bytes, which the kernel refuses
// in the background. A group of another process namespace needs this, because all such groups have the number 0 here.
func mayRead() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// While SIGTTIN is blocked, a read in the background fails. Otherwise it would stop the whole group.
	var ttin, before unix.Sigset_t
	ttin.Val[0] = 1 << (syscall.SIGTTIN - 1)
	unix.PthreadSigmask(unix.SIG_BLOCK, &ttin, &before)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	_, err = unix.Read(tty, nil)
	return err == nil || err == unix.EAGAIN
}
