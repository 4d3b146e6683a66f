package shim

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// launchFDs are the descriptors that the caller handed over and the shim keeps. It closes all others to the target.
type launchFDs struct {
	identity int      // -1: not asked for, or not open for reading
	token    *os.File // nil: none
	listener *os.File // nil: none
}

// inherited says whether fd came from the caller. A descriptor that came through exec is never close-on-exec. The Go
// runtime's own always are, and take the lowest free numbers: a cgroup file and an epoll descriptor (S04).
func inherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

func access(fd int) int {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&pathOnly != 0 {
		return -1
	}
	return flags & unix.O_ACCMODE
}

func readable(fd int) bool { m := access(fd); return m == unix.O_RDONLY || m == unix.O_RDWR }
func writable(fd int) bool { m := access(fd); return m == unix.O_WRONLY || m == unix.O_RDWR }

// fileType is the S_IFMT part of fd's mode.
func fileType(fd int) uint32 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return uint32(st.Mode) & unix.S_IFMT
}

// checkFDs checks every descriptor that the flags name, before anything else happens. It takes over the good ones, as
// close-on-exec.
func (l *launch) checkFDs() error {
	l.fds = launchFDs{identity: -1}
	if l.passToken {
		if err := l.checkToken(); err != nil {
			return err
		}
	}
	if err := l.takeStatus(); err != nil {
		return err
	}
	if fd := l.listener; fd >= 0 {
		if !inherited(fd) || fileType(fd) != unix.S_IFSOCK {
			return usage("--listener-fd: fd "+strconv.Itoa(fd)+" is not a socket", "")
		}
		unix.CloseOnExec(fd)
		l.fds.listener = os.NewFile(uintptr(fd), "listener")
	}
	if l.options.identity && inherited(IdentityFD) && readable(IdentityFD) {
		unix.CloseOnExec(IdentityFD)
		l.fds.identity = IdentityFD
	}
	if l.passToken {
		unix.CloseOnExec(TokenFD)
		l.fds.token = os.NewFile(TokenFD, "token")
	}
	return nil
}

// takeStatus opens the status descriptor. The default number counts only if it is a pipe or a socket, so that events
// never go into a file that the caller happened to leave open there (S02).
func (l *launch) takeStatus() error {
	fd := l.statusFD
	byDefault := fd < 0
	if byDefault {
		fd = StatusFD
	}
	kind := fileType(fd)
	switch {
	case inherited(fd) && writable(fd) && (!byDefault || kind == unix.S_IFIFO || kind == unix.S_IFSOCK):
		l.status = openStatus(fd)
	case !byDefault:
		return usage("--status-fd: fd "+strconv.Itoa(fd)+" is not open for writing", "hand over a pipe: shim --status-fd 4 ... 4>events")
	}
	return nil
}

// checkToken checks what kind of file descriptor 5 is. It never reads it (S05). The target may reopen the descriptor by
// its path. That fails for a socket, and in a sandbox for a file that the target is denied.
func (l *launch) checkToken() error {
	const hint = "hand the token over in a pipe: shim --pass-token -- TARGET 5< <(cat FILE)"
	if !inherited(TokenFD) {
		return usage("--pass-token: fd 5 is not open", hint)
	}
	kind := fileType(TokenFD)
	switch {
	case kind == unix.S_IFSOCK:
		return usage("--pass-token: fd 5 is a socket, which the target cannot reopen", hint)
	case kind == unix.S_IFDIR:
		return usage("--pass-token: fd 5 is a directory", hint)
	case !readable(TokenFD):
		return usage("--pass-token: fd 5 is not open for reading", hint)
	case kind == unix.S_IFIFO && writable(TokenFD):
		return usage("--pass-token: fd 5 is the write end of its own pipe, which never ends", hint)
	case kind == unix.S_IFIFO:
		return nil
	case l.profile != "":
		return usage("--pass-token: fd 5 is not a pipe, and a sandboxed target cannot reopen a file it is denied", hint)
	}
	warn("--pass-token: fd 5 is not a pipe: the target can learn its path and read it twice")
	return nil
}

// closeInherited marks every descriptor above 2 close-on-exec. The target gets its own by number (S07).
func closeInherited() error {
	if closeAllOnExec() {
		return nil
	}
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(strings.TrimSpace(name)); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
