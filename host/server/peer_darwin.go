package server

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// lookAt asks the kernel who is at the other end of conn. Here profiles deny the socket to whatever is sandboxed,
// and descent tells the rest.
func lookAt(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	control := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err != nil {
			return
		}
		p.uid = int(cred.Uid)
		p.pid, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err := errors.Join(control, err); err != nil {
		return p, fmt.Errorf("LOCAL_PEERCRED: %w", err)
	}
	if p.pid > 0 {
		p.ancestors, p.session, err = ancestors(p.pid)
	}
	return p, err
}

// confined: macOS knows no no_new_privs.
func confined() bool { return false }

// peerPID is the process number of a connection's peer; 0: not known.
func peerPID(conn *net.UnixConn) (pid int) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { pid, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID) })
	}
	return pid
}
