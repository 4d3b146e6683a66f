package shim

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

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
