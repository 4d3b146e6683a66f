package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

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
	if p.noNewPrivs, err = noNewPrivs(p.pid); err != nil {
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

// noNewPrivs reads the flag of that name; pid 0 is this process.
func noNewPrivs(pid int) (bool, error) {
	name := "self"
	if pid > 0 {
		name = strconv.Itoa(pid)
	}
	status, err := os.ReadFile("/proc/" + name + "/status")
	if err != nil {
		return false, err
	}
	_, rest, ok := bytes.Cut(status, []byte("\nNoNewPrivs:\t"))
	if !ok || len(rest) == 0 {
		return false, fmt.Errorf("process %s: no NoNewPrivs in its status", name)
	}
	return rest[0] != '0', nil
}

// confined says whether this process itself has no_new_privs: then the flag tells nobody from a session, and a
// bearer must (H03).
func confined() bool {
	set, err := noNewPrivs(0)
	return set || err != nil
}
