package host

import (
	"os/exec"
	"sync"
	"syscall"
)

// children are the shims that this process has started and not yet reaped.
type children struct {
	mu      sync.Mutex
	live    map[int]*child // by process number
	reaping bool           // somebody waits for their ends
	callers map[int]bool   // children that this process had before
}

// child is a shim that this process started.
type child struct {
	pid    int
	all    *children
	ended  chan struct{} // closed when it was reaped
	status syscall.WaitStatus
	ok     bool // the status is known
	//lint:ignore U1000 macOS keeps the process in it
	handle
}

// start runs a shim by the given way to start programs. It holds the lock meanwhile, so that nothing that the shim starts
// is examined, and no end of the shim is seen, before the shim is known.
func (c *children) start(cmd *exec.Cmd, by func(*exec.Cmd) error) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := by(cmd); err != nil {
		return nil, err
	}
	s := &child{pid: cmd.Process.Pid, all: c, ended: make(chan struct{})}
	if c.live == nil {
		c.live = map[int]*child{}
	}
	c.live[s.pid] = s
	s.watch(cmd.Process)
	return s, nil
}

// has says whether pid is a live shim.
func (c *children) has(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[pid] != nil
}

// reaped notes a shim's end. The caller has the lock: from now on the number may be another process's.
func (c *children) reaped(s *child, status syscall.WaitStatus, ok bool) {
	delete(c.live, s.pid)
	s.status, s.ok = status, ok
	close(s.ended)
}

func (s *child) signal(sig syscall.Signal) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.all.live[s.pid] == s {
		s.kill(sig)
	}
}

// wait returns how the child ended.
func (s *child) wait() (status syscall.WaitStatus, ok bool) {
	<-s.ended
	return s.status, s.ok
}
