package shim

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithShim: macOS has no parent-death signal (documented limit of S19).
func dieWithShim(*syscall.SysProcAttr) {}

// startSignals: the runtime's own handlers are reset by exec; what it does not handle stays as it was.
func startSignals() {}

// blockOnly: a thread's mask is out of reach without cgo; the caller's goes on to the target.
func blockOnly([]os.Signal) {}

// ByDefault leaves the signal to the runtime, which then ends the program by it, and says whether it does. For QUIT
// it would print its goroutines first, so that one is left to the exit status.
func ByDefault(sig syscall.Signal) bool {
	signal.Reset(sig)
	return sig != syscall.SIGQUIT
}

// watch sees the target's state without reaping it: its end by a kernel queue, its stops by waitid.
type watch struct {
	pid    int
	exited *atomic.Bool
}

func watchTarget(pid int, s *signals) watch {
	w := watch{pid, new(atomic.Bool)}
	go func() {
		if awaitExit(pid) != nil {
			pollExit(pid)
		}
		w.exited.Store(true)
		s.childChanged()
	}()
	return w
}

// awaitExit waits for the end of a process by a kernel queue. An error says that it could not, not that the process
// has ended: to take it for the end would stop the forwarding of signals.
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

func (w watch) state() (exited bool, stopped syscall.Signal) {
	if w.exited.Load() {
		return true, 0
	}
	var info struct {
		signo, errno, code, pid int32
		uid                     uint32
		status                  int32
		_                       [80]byte
	}
	const onePID, stops, noHang = 1, 0x8, 0x1 // P_PID, WSTOPPED, WNOHANG
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, onePID, uintptr(w.pid), uintptr(unsafe.Pointer(&info)), stops|noHang, 0, 0)
	if errno == 0 && info.pid == int32(w.pid) {
		return false, syscall.Signal(info.status)
	}
	return false, 0
}
