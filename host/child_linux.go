package host

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a shim that this process started. Package os would hold a descriptor of it for as long as it lives, and
// every new process has to close those of a thousand sessions; a number is as good while nobody else waits for it.
type child struct {
	pid    int
	mu     sync.Mutex
	reaped bool // the number may be another's
}

func newChild(p *os.Process) *child {
	c := &child{pid: p.Pid}
	p.Release()
	return c
}

func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		syscall.Kill(c.pid, sig)
	}
}

// wait returns how the child ended. It learns of the end without reaping, and reaps when no signal is on its way.
func (c *child) wait() (status syscall.WaitStatus, ok bool) {
	for unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := syscall.Wait4(c.pid, &status, syscall.WNOHANG, nil)
	c.reaped = true
	return status, err == nil && pid == c.pid
}
