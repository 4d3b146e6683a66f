package host

import (
	"os"
	"syscall"
)

// child is a shim that this process started.
type child struct {
	pid int
	*os.Process
}

func newChild(p *os.Process) *child { return &child{p.Pid, p} }

func (c *child) signal(sig syscall.Signal) { c.Process.Signal(sig) }

// wait returns how the child ended.
func (c *child) wait() (status syscall.WaitStatus, ok bool) {
	state, err := c.Process.Wait()
	if err != nil {
		return status, false
	}
	status, ok = state.Sys().(syscall.WaitStatus)
	return status, ok
}
