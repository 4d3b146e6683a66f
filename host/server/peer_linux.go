package server

import (
	"errors"
	"fmt"
	"net"

	"hostshim/host/state"

	"golang.org/x/sys/unix"
)

// lookAt asks the kernel who is at the other end of conn. It must be called as soon as the connection is there:
// a process number says who called only as long as that process lives. Since Linux 6.5 the socket also hands out
// a descriptor of that very process, and a number that was used again meanwhile is noticed.
func lookAt(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	pidfd := -1
	control := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil {
			return
		}
		p.uid, p.pid = int(cred.Uid), int(cred.Pid)
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			pidfd = n
		}
	})
	if err := errors.Join(control, err); err != nil {
		return p, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	if pidfd >= 0 {
		defer unix.Close(pidfd)
	}
	if p.pid <= 0 {
		return p, nil
	}
	if p.noNewPrivs, err = state.NoNewPrivs(p.pid); err != nil {
		return p, err
	}
	if p.ancestors, p.session, err = ancestors(p.pid); err != nil {
		return p, err
	}
	if pidfd >= 0 && unix.PidfdSendSignal(pidfd, 0, nil, 0) == unix.ESRCH {
		return p, fmt.Errorf("process %d is gone", p.pid)
	}
	return p, nil
}

// confined says whether this process itself has no_new_privs: then the flag tells nobody from a session, and a
// bearer must (H03).
func confined() bool {
	set, err := state.NoNewPrivs(0)
	return set || err != nil
}

// peerPID is the process number of a connection's peer; 0: not known.
func peerPID(conn *net.UnixConn) (pid int) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				pid = int(cred.Pid)
			}
		})
	}
	return pid
}
