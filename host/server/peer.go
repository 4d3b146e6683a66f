package server

import (
	"errors"
	"fmt"

	"hostshim/host/state"
)

// peer is who called, by the kernel's word (H03).
type peer struct {
	uid, pid   int
	noNewPrivs bool  // cannot be shed, so it marks what was born in a sandbox, however far it forked away (X10)
	session    int   // of its terminal session
	ancestors  []int // itself, its parent and so on
}

// maxAncestors bounds the walk up from a peer; a loop there would mean a process number that was used again.
const maxAncestors = 128

// ancestors follows pid's parents up to process 1.
func ancestors(pid int) (line []int, session int, err error) {
	for at := pid; at > 1; {
		p, err := state.ProcessOf(at)
		if err != nil && at == pid {
			return nil, 0, err
		} else if err != nil {
			break // a parent that has just ended: the rest of the line is process 1's
		}
		if at == pid {
			session = p.Session
		}
		if line = append(line, at); len(line) > maxAncestors {
			return nil, 0, errors.New("no end of parents")
		}
		at = p.Parent
	}
	return line, session, nil
}

// refuse says why p may not call a host that runs as user own, with the given way to tell a live session's shim by
// its process number; nil: it may.
func (p peer) refuse(own int, trustFlag bool, shim func(pid int) bool) error {
	switch {
	case p.uid != own && p.uid != 0:
		return fmt.Errorf("user %d", p.uid)
	case p.pid <= 0:
		return errors.New("a process of another process namespace")
	case trustFlag && p.noNewPrivs:
		return fmt.Errorf("process %d has no_new_privs, as everything inside a sandbox", p.pid)
	case shim(p.session):
		return fmt.Errorf("process %d is in the terminal session of a session's shim", p.pid)
	}
	for _, pid := range p.ancestors {
		if shim(pid) {
			return fmt.Errorf("process %d descends from a session's shim", p.pid)
		}
	}
	return nil
}
