package host

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithHost has the kernel send TERM to a shim whose host is gone, so that no session outlives the process that
// can say what became of it. The signal belongs to the thread that starts the shim, which must stay.
func endWithHost(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// HideMemory leaves no core of the host and closes its memory and /proc entries to other programs of the user
// (T08). What the host starts is not touched: execve makes a process dumpable again.
func HideMemory() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// terminals: the shim grants them (shim/landlock_linux.go).
func (Stdio) terminals() []string { return nil }

// systemTempEnv: every library asks TMPDIR.
func systemTempEnv(string) []string { return nil }
