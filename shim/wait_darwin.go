package shim

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithShim does nothing: macOS has no parent-death signal (a documented limit of S19).
func dieWithShim(*syscall.SysProcAttr) {}

// resetDispositions does nothing: exec resets the runtime's handlers, and other signals stay as the caller had them.
func resetDispositions() {}

// setMask does nothing: a thread's mask is out of reach without cgo. The target gets the caller's mask.
func setMask([]os.Signal) {}

// ByDefault leaves sig to the runtime, which then ends this program by it. It says whether that is so. For QUIT it is
// not: the runtime would print its goroutines first, so only the exit status tells of a QUIT.
func ByDefault(sig syscall.Signal) bool {
	signal.Reset(sig)
	return sig != syscall.SIGQUIT
}

// watch sees the target's state without reaping the target: its exit by a kernel queue, its stops by waitid.
type watch struct {
	pid     int
	exited  chan struct{}  // closed
	changed chan os.Signal // a child changed state: one pending notice is enough, because the state is read afterwards
	callers map[int]uint64 // Linux alone
}

func watchTarget(pid int, _ map[int]uint64) watch {
	w := watch{pid, make(chan struct{}), make(chan os.Signal, 1), nil}
	signal.Notify(w.changed, syscall.SIGCHLD)
	go func() {
		if awaitExit(pid) != nil {
			pollExit(pid)
		}
		close(w.exited)
	}()
	return w
}

// next waits until the target has exited, or has stopped by a signal.
func (w watch) next() (exited bool, stopped syscall.Signal) {
	for {
		select {
		case <-w.exited:
			return true, 0
		default:
		}
		if stopped = w.stopped(); stopped != 0 {
			return false, stopped
		}
		select {
		case <-w.exited:
		case <-w.changed:
		}
	}
}

// awaitExit waits for the exit of a process by a kernel queue. An error does not mean that the process has exited. The
// shim would stop forwarding signals if it took one for the exit.
func awaitExit(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return err
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	ask := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	got := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, ask, got, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ESRCH: // it has ended already
			return nil
		case err != nil:
			return err
		case n > 0 && got[0].Flags&unix.EV_ERROR != 0 && syscall.Errno(got[0].Data) != unix.ESRCH:
			return syscall.Errno(got[0].Data)
		case n > 0:
			return nil
		}
	}
}

// pollExit asks until the process is there only to be reaped.
func pollExit(pid int) {
	const zombie = 5 // SZOMB
	for every := time.NewTicker(20 * time.Millisecond); ; <-every.C {
		info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil || info.Proc.P_stat == zombie {
			every.Stop()
			return
		}
	}
}

// stopped takes the notice that the target stopped since the last look, and says by which signal.
func (w watch) stopped() syscall.Signal {
	var info struct {
		signo, errno, code, pid int32
		uid                     uint32
		status                  int32
		_                       [80]byte
	}
	const onePID, stops, noHang = 1, 0x8, 0x1 // P_PID, WSTOPPED, WNOHANG
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, onePID, uintptr(w.pid), uintptr(unsafe.Pointer(&info)), stops|noHang, 0, 0)
	if errno == 0 && info.pid == int32(w.pid) {
		return syscall.Signal(info.status)
	}
	return 0
}
