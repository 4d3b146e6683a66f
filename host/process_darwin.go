package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// process is what the system says of a process. Start tells it from a later one of the same number.
type process struct {
	parent, session int
	start           string
}

func processOf(pid int) (process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	session, err := unix.Getsid(pid)
	if err != nil {
		return process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	start := info.Proc.P_starttime
	return process{int(info.Eproc.Ppid), session, fmt.Sprintf("%d.%06d", start.Sec, start.Usec)}, nil
}
