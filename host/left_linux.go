package host

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hostshim/host/state"
	"hostshim/shim"
)

// becomeSubreaper makes this process the parent of what a shim leaves that was killed. Children that it has already are
// its caller's: a shell may have started some and then become this program.
func (c *children) becomeSubreaper() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var already int32
	unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&already)), 0, 0, 0)
	if already != 0 {
		return
	}
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) != unix.ECHILD {
		c.callers = map[int]bool{}
		for _, pid := range state.OwnChildren() {
			c.callers[pid] = true
		}
	}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// endOrphans ends what shims left that were killed (X13), and returns what it could not end. A shim that lives keeps its
// session's orphans to itself. So an orphan here is one that a dead shim left, or one from a session without a sandbox,
// whose processes are its own affair. A system-call filter more than this process has tells them apart: no sandboxed process can shed
// it. (no_new_privs alone does not: the host itself, or a program outside of a sandbox, may have it.)
//
// The kernel's list of children leaves out those behind one that is reaped while it is read. So a child on the list that is
// gone when it is looked at means that the list may have holes, and has to be read again.
func (c *children) endOrphans(within time.Duration) (left []string) {
	for deadline := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) == unix.ECHILD {
			return nil // the usual end of a foreground launch
		}
		orphans, holes := false, false
		for _, pid := range state.OwnChildren() {
			orphan, err := c.isOrphan(pid)
			orphans, holes = orphans || orphan, holes || err != nil
		}
		if orphans {
			left = shim.EndOrphans(time.Until(deadline), func(pid int) bool {
				orphan, _ := c.isOrphan(pid)
				return !orphan
			})
		}
		if !orphans && !holes || time.Now().After(deadline) {
			return left
		}
	}
}

// isOrphan says whether a child of this process is one that a dead shim left. An error says that it is gone.
func (c *children) isOrphan(pid int) (bool, error) {
	c.mu.Lock()
	known := c.live[pid] != nil || c.callers[pid]
	c.mu.Unlock()
	if known {
		return false, nil
	}
	return state.MoreFilters(pid)
}
