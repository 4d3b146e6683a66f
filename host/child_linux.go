package host

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handle is nothing here. Package os would hold a descriptor of each shim for as long as it lives, and every new process
// has to close those of a thousand sessions. The number is as good while nobody else reaps.
//
//lint:ignore U1000 macOS keeps the process in it
type handle struct{}

func (s *child) kill(sig syscall.Signal) { syscall.Kill(s.pid, sig) }

// watch has the shim reaped at its end. The caller has the lock.
func (s *child) watch(p *os.Process) {
	p.Release()
	if c := s.all; !c.reaping {
		c.reaping = true
		go c.reap()
	}
}

// reap reaps every child of this process, one thread for all: the shims, and the orphans that become its children because
// it is a subreaper. It returns when there are none.
func (c *children) reap() {
	for {
		// First without reaping: a signal may be on its way to the number.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		pid := int((*struct{ signo, errno, code, _, pid int32 })(unsafe.Pointer(&info)).pid)
		if c.reapOne(pid, err == nil) {
			return
		}
	}
}

// reapOne reaps a child that has ended. Without one it looks again under the lock: a shim may have started meanwhile.
func (c *children) reapOne(pid int, ended bool) (none bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ended {
		if none = unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) == unix.ECHILD; none {
			c.reaping = false
			for _, s := range c.live { // somebody else reaped it
				c.reaped(s, 0, false)
			}
		}
		return none
	}
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	if s := c.live[pid]; s != nil {
		c.reaped(s, status, err == nil && got == pid)
	}
	delete(c.callers, pid)
	return false
}
