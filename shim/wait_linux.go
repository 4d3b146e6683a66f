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
}

func watchTarget(pid int, _ *signals) watch {
	var asked int32
	unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&asked)), 0, 0, 0)
	return watch{pid, os.Getpid() == 1 || asked != 0}
}

// childInfo is the start of the siginfo of a SIGCHLD on a 64-bit machine.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
}

// state says whether the target has exited, or by which signal it stopped since the last look.
func (w watch) state() (exited bool, stopped syscall.Signal) {
	w.reapOrphans()
	c := peek(unix.P_PID, w.pid, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
	switch {
	case c.pid == 0:
		return false, 0
	case c.code == cldTrapped:
		// The target asked its parent, the shim, to trace it, and waits for a tracer that does not exist. It would wait
		// for ever, so it is killed.
		unix.Kill(w.pid, unix.SIGKILL)
		return false, 0
	case c.code != cldStopped:
		return true, 0
	}
	peek(unix.P_PID, w.pid, unix.WSTOPPED) // takes the notice, which would come again otherwise
	return false, syscall.Signal(c.status)
}

const (
	cldTrapped = 4 // CLD_TRAPPED
	cldStopped = 5 // CLD_STOPPED
)

// reapOrphans reaps every child that has ended, until it meets the target.
func (w watch) reapOrphans() {
	for w.init {
		c := peek(unix.P_ALL, 0, unix.WEXITED|unix.WNOWAIT)
		if c.pid == 0 || int(c.pid) == w.pid {
			return
		}
		unix.Wait4(int(c.pid), nil, unix.WNOHANG, nil)
	}
}

func peek(kind, id, options int) childInfo {
	for {
		var info unix.Siginfo
		switch unix.Waitid(kind, id, &info, options|unix.WNOHANG, nil) {
		case nil:
			return *(*childInfo)(unsafe.Pointer(&info))
		case unix.EINTR:
		default:
			return childInfo{}
		}
	}
}
