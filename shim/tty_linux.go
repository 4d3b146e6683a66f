package shim

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// mayRead says whether this process's group has its terminal's foreground, by what a read of nothing is told. It is for
// groups of another process namespace, which all have the number 0 here.
func mayRead() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// With SIGTTIN blocked the read fails where it would have stopped the group.
	var ttin, before unix.Sigset_t
	ttin.Val[0] = 1 << (syscall.SIGTTIN - 1)
	unix.PthreadSigmask(unix.SIG_BLOCK, &ttin, &before)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	_, err = unix.Read(tty, nil)
	return err == nil || err == unix.EAGAIN
}
