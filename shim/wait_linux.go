package shim

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithShim makes the kernel kill the target when the thread that starts it ends (S19). That is the main thread, which
// lives as long as the shim.
func dieWithShim(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// resetDispositions gives the program that is started next default dispositions (S17). exec resets the signals that the
// runtime handles, but keeps those that the caller ignored. HUP and INT stay ignored on purpose (nohup).
func resetDispositions() {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if disposition(sig) == ignored && sig != syscall.SIGHUP && sig != syscall.SIGINT {
			ByDefault(sig)
		}
	}
}

// setMask sets the signal mask of this thread and of what it starts.
func setMask(list []os.Signal) {
	var set unix.Sigset_t
	for _, sig := range list {
		set.Val[0] |= 1 << (sig.(syscall.Signal) - 1)
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &set, nil)
}

// sigaction is the kernel's structure, large enough for every architecture. This makes plain system calls, because
// os/signal can neither tell nor restore the default disposition of a signal.
type sigaction struct {
	handler uintptr
	rest    [4]uint64
}

const (
	ignored = 1 // SIG_IGN
	setSize = 8 // bytes of a signal set
)

func disposition(sig syscall.Signal) uintptr {
	var a sigaction
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), setSize, 0, 0)
	return a.handler
}

// ByDefault gives sig its default disposition, an all-zero sigaction. It says whether sig now ends this program.
// signal.Reset would leave the runtime's handler for QUIT, which prints the goroutines and exits 2.
func ByDefault(sig syscall.Signal) bool {
	var a sigaction
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, setSize, 0, 0)
	return errno == 0
}

// watch sees the target's state without reaping the target.
type watch struct {
	pid  int
	init bool // orphans become children of this process: it is process 1 (S20), or a subreaper

	callers map[int]uint64 // children that this process had before, and still has
}

func watchTarget(pid int, callers map[int]uint64) watch {
	var asked int32
	unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&asked)), 0, 0, 0)
	return watch{pid, os.Getpid() == 1 || asked != 0, callers}
}

// childInfo is the start of the siginfo of a SIGCHLD on a 64-bit machine.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
}

const (
	cldTrapped = 4 // CLD_TRAPPED
	cldStopped = 5 // CLD_STOPPED
)

// next waits in the kernel until the target has exited, or has stopped by a signal. Meanwhile it reaps orphans, and takes
// the notices of their stops: each of these would end the next wait at once.
func (w watch) next() (exited bool, stopped syscall.Signal) {
	kind, id := unix.P_PID, w.pid
	if w.init {
		kind, id = unix.P_ALL, 0
	}
	for {
		c, err := waitid(kind, id, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
		switch child := int(c.pid); {
		case err != nil:
			return true, 0 // cmd.Wait says what it is
		case c.code == cldStopped || c.code == cldTrapped:
			c, _ = waitid(unix.P_PID, child, unix.WSTOPPED|unix.WNOHANG) // takes the notice, which would come again
			if c.code == cldTrapped {
				// It asked its parent, the shim, to trace it, and waits for a tracer that does not exist. It would wait for
				// ever, so it is killed.
				unix.Kill(child, unix.SIGKILL)
			} else if child == w.pid && c.pid != 0 {
				return false, syscall.Signal(c.status)
			}
		case child == w.pid:
			return true, 0
		default:
			w.reapOrphans()
		}
	}
}

// reapOrphans reaps every child that has ended, until it meets the target.
func (w watch) reapOrphans() {
	for {
		c, err := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG)
		if err != nil || c.pid == 0 || int(c.pid) == w.pid {
			return
		}
		unix.Wait4(int(c.pid), nil, unix.WNOHANG, nil)
		delete(w.callers, int(c.pid))
	}
}

func waitid(kind, id, options int) (c childInfo, err error) {
	for {
		var info unix.Siginfo
		if err = unix.Waitid(kind, id, &info, options, nil); err != unix.EINTR {
			return *(*childInfo)(unsafe.Pointer(&info)), err
		}
	}
}
