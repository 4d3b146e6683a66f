package shim

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter refuses the few system calls that reach past Landlock and the dropped capabilities (X08–X11). It is small on
// purpose: a list of allowed calls would break programs that people run in the sandbox.

// denial is one system call and the condition under which it fails.
type denial struct {
	nr    uint32
	when  []unix.SockFilter // ends in a return; nil: always
	errno unix.Errno
}

// Offsets in struct seccomp_data. Where an argument is an int the kernel ignores its high half. So the filter must compare
// only the low half, or a high bit that is set would defeat it. Both architectures are little-endian.
const (
	dataNr   = 0
	dataArch = 4
	dataArg  = 16 // plus 8 for each argument before
)

// foreignBit marks the numbers of x32 calls, which come under the architecture of x86-64. No native call on either
// architecture has a number that high.
const foreignBit = 0x40000000

func denials(model bool) []denial {
	list := []denial{
		// Input pushed into the terminal would be run by the user's shell later (X11).
		{nr: unix.SYS_IOCTL, when: argIs(1, refuse, allow, unix.TIOCSTI, unix.TIOCLINUX)},
		// Other processes' limits (X08).
		{nr: unix.SYS_PRLIMIT64, when: argIs(0, allow, refuse, 0)},
		// In a new user namespace the target would have every capability again. clone3 keeps its flags in memory, where
		// a filter cannot look. On ENOSYS the C libraries use clone instead.
		{nr: unix.SYS_UNSHARE, when: argHas(0, unix.CLONE_NEWUSER)},
		{nr: unix.SYS_CLONE, when: argHas(0, unix.CLONE_NEWUSER)},
		{nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		{nr: unix.SYS_SETNS, errno: unix.EPERM},
		// A ring makes sockets, opens files and more without system calls, so past any filter.
		{nr: unix.SYS_IO_URING_SETUP, errno: unix.EPERM},
		// The keyrings of the user and the login session hold other programs' secrets.
		{nr: unix.SYS_KEYCTL, errno: unix.EPERM},
		{nr: unix.SYS_ADD_KEY, errno: unix.EPERM},
		{nr: unix.SYS_REQUEST_KEY, errno: unix.EPERM},
	}
	if model {
		// A network namespace does not confine Unix sockets with a path, vsock, Bluetooth and others. So the target can
		// make only the kinds that it does confine (X09). Netlink is allowed for listing interfaces only. One of a pair
		// of datagram sockets can send to another socket than its peer; a stream cannot.
		list = append(list,
			denial{nr: unix.SYS_SOCKET, when: modelSocket()},
			denial{nr: unix.SYS_SOCKETPAIR, when: modelPair()})
	}
	return list
}

// filter builds the program: it checks the architecture, then compares the call with each denial in turn.
func filter(model bool) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		refuse,
		load(dataNr),
		jump(unix.BPF_JGE, foreignBit, 0, 1),
		refuse,
	}
	for _, d := range denials(model) {
		then := d.when
		if then == nil {
			then = []unix.SockFilter{fail(d.errno)}
		}
		prog = append(prog, jump(unix.BPF_JEQ, d.nr, 0, uint8(len(then))))
		prog = append(prog, then...)
	}
	return append(prog, allow)
}

var (
	allow  = stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW)
	refuse = fail(unix.EPERM)
)

func fail(errno unix.Errno) unix.SockFilter {
	return stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno))
}

func load(offset uint32) unix.SockFilter {
	return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

// argIs returns match if the argument is one of values, else other.
func argIs(arg uint32, match, other unix.SockFilter, values ...uint32) []unix.SockFilter {
	prog := []unix.SockFilter{load(dataArg + 8*arg)}
	for i, v := range values {
		prog = append(prog, jump(unix.BPF_JEQ, v, uint8(len(values)-i), 0))
	}
	return append(prog, other, match)
}

// argHas refuses if the argument has the bit set.
func argHas(arg, bit uint32) []unix.SockFilter {
	return []unix.SockFilter{load(dataArg + 8*arg), jump(unix.BPF_JSET, bit, 0, 1), refuse, allow}
}

// modelSocket allows IPv4, IPv6 and route netlink.
func modelSocket() []unix.SockFilter {
	return []unix.SockFilter{
		load(dataArg),
		jump(unix.BPF_JEQ, unix.AF_INET, 4, 0),
		jump(unix.BPF_JEQ, unix.AF_INET6, 3, 0),
		jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 3),
		load(dataArg + 8*2),
		jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 0, 1),
		allow,
		refuse,
	}
}

// modelPair allows pairs of streams. The upper bits of a socket's type are flags.
func modelPair() []unix.SockFilter {
	const typeMask = 0xf
	return []unix.SockFilter{
		load(dataArg + 8*1),
		stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, typeMask),
		jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0),
		jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 0, 1),
		allow,
		refuse,
	}
}

// loadFilter confines this thread and the program that it executes. It needs no_new_privs.
func loadFilter(model bool) error {
	prog := filter(model)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return noSeccomp(errno)
	}
	return nil
}

// seccompSupported asks the kernel whether it knows the action that the filter uses.
func seccompSupported() error {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
		return noSeccomp(errno)
	}
	return nil
}

func noSeccomp(err error) error {
	var e *stageError
	errors.As(stageFailure("sandbox: seccomp", err), &e)
	if e.Errno == unix.ENOSYS || e.Errno == unix.EINVAL {
		e.Reason = "this kernel was built without system-call filters"
	}
	return e
}
