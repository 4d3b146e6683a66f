package state

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Process is what the system says of a process. Start tells it from a later one of the same number.
type Process struct {
	Parent  int
	Session int // of its terminal session; its leader's number
	Start   string
	Ended   bool // and not yet reaped
}

const zombie = 5 // SZOMB

// ProcessOf asks the system about a process. One that has ended is an error.
func ProcessOf(pid int) (Process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	session, err := unix.Getsid(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	start := info.Proc.P_starttime
	return Process{int(info.Eproc.Ppid), session, fmt.Sprintf("%d.%06d", start.Sec, start.Usec), info.Proc.P_stat == zombie}, nil
}
