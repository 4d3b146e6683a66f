package shim

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// launchFDs are the descriptors that the caller handed over. A keep-list: what is not here is swept.
type launchFDs struct {
	identity int      // -1: not asked for, or not open for reading
	token    *os.File // nil: none
	listener *os.File // nil: none
}

// inherited says whether fd came from the caller: a descriptor that came through exec is never close-on-exec,
// and the Go runtime's own (a cgroup file, an epoll descriptor, on the first free numbers) always are (S04).
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

// checkFDs looks at every named descriptor before anything else happens, takes those that are right and keeps
// them from any child.
func (l *launch) checkFDs() error {
	l.fds = launchFDs{identity: -1}
	if l.passToken {
		if err := l.checkToken(); err != nil {
			return err
		}
	}
	switch fd := l.statusFD; {
	case fd >= 0 && (!inherited(fd) || !writable(fd)):
		return &usageError{"--status-fd: fd " + strconv.Itoa(fd) + " is not open for writing", "hand over a pipe: shim --status-fd 4 ... 4>events"}
	case fd >= 0:
		l.status = openStatus(fd)
	case inherited(StatusFD) && writable(StatusFD):
		// The default number: only what is surely meant, never a stray file (S02).
		if t := fileType(StatusFD); t == unix.S_IFIFO || t == unix.S_IFSOCK {
			l.status = openStatus(StatusFD)
		}
	}
	if fd := l.listener; fd >= 0 {
		if !inherited(fd) || fileType(fd) != unix.S_IFSOCK {
			return &usageError{"--listener-fd: fd " + strconv.Itoa(fd) + " is not a socket", ""}
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

// checkToken judges descriptor 5 by its kind, never by its content (S05).
func (l *launch) checkToken() error {
	const hint = "hand the token over in a pipe: shim --pass-token -- TARGET 5< <(cat FILE)"
	if !inherited(TokenFD) {
		return &usageError{"--pass-token: fd 5 is not open", hint}
	}
	kind := fileType(TokenFD)
	switch {
	case kind == unix.S_IFSOCK:
		return &usageError{"--pass-token: fd 5 is a socket, which the target cannot reopen", hint}
	case kind == unix.S_IFDIR:
		return &usageError{"--pass-token: fd 5 is a directory", hint}
	case !readable(TokenFD):
		return &usageError{"--pass-token: fd 5 is not open for reading", hint}
	case kind == unix.S_IFIFO && writable(TokenFD):
		return &usageError{"--pass-token: fd 5 is the write end of its own pipe, which never ends", hint}
	case kind == unix.S_IFIFO:
		return nil
	case l.profile != "":
		return &usageError{"--pass-token: fd 5 is not a pipe, and a sandboxed target cannot reopen a file it is denied", hint}
	}
	warn("--pass-token: fd 5 is not a pipe: the target can learn its path and read it twice")
	return nil
}

// sweep keeps every descriptor above 2 from the target; what is meant for it is handed over by number (S07).
func sweep() error {
	if keepAllFromChildren() {
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
