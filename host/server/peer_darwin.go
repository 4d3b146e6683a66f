package server

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lookAt asks the kernel who is at the other end of conn. A process number alone says who used the socket last, and may
// be somebody else's by now. The audit token also holds the number's version, and must be the same after the look at the
// process as before. Descent is lost by what launchd starts for a session, so every profile denies the socket as well.
func lookAt(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	var before, after auditToken
	control := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err != nil {
			return
		}
		p.uid = int(cred.Uid)
		if before, err = peerToken(fd); err != nil {
			return
		}
		if p.pid = before.pid(); p.pid > 0 {
			p.ancestors, p.session, err = ancestors(p.pid)
		}
		if err == nil {
			after, err = peerToken(fd)
		}
	})
	if err := errors.Join(control, err); err != nil {
		return p, fmt.Errorf("the peer's process: %w", err)
	}
	if before != after {
		return p, fmt.Errorf("process %d is gone, or another one uses its connection", p.pid)
	}
	return p, nil
}

// auditToken is the kernel's audit_token_t: its sixth word is the process number, its eighth that number's version.
type auditToken [8]uint32

func (t auditToken) pid() int { return int(int32(t[5])) }

func peerToken(fd uintptr) (t auditToken, err error) {
	size := uint32(unsafe.Sizeof(t))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_LOCAL, unix.LOCAL_PEERTOKEN,
		uintptr(unsafe.Pointer(&t)), uintptr(unsafe.Pointer(&size)), 0)
	switch {
	case errno != 0:
		return t, fmt.Errorf("LOCAL_PEERTOKEN: %w", errno)
	case size != uint32(unsafe.Sizeof(t)):
		return t, fmt.Errorf("LOCAL_PEERTOKEN: %d bytes", size)
	}
	return t, nil
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
