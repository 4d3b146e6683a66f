package shim

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter refuses the few system calls that reach past Landlock and the dropped capabilities (X08–X11). It
// is small on purpose: a list of what is allowed would break the programs that people run in the sandbox.

// denial is one system call, and when it fails.
type denial struct {
	nr    uint32
	when  []unix.SockFilter // ends in a return; nil: always
	errno unix.Errno
}

// The fields of struct seccomp_data. Of an argument the kernel looks at the low half alone where it is an int,
// so the filter must too, or a set high bit would slip past it. Both architectures are little-endian.
const (
	dataNr   = 0
	dataArch = 4
	dataArg  = 16 // plus 8 for each argument before
)

// foreignBit marks the numbers of x32, which the x86-64 kernel would otherwise take under its own architecture.
// No architecture here has a number that high.
const foreignBit = 0x40000000

func denials(model bool) []denial {
	list := []denial{
		// Typing into the terminal, for the user's shell to run later (X11).
		{nr: unix.SYS_IOCTL, when: argIs(1, refuse, allow, unix.TIOCSTI, unix.TIOCLINUX)},
		// Limits of other processes (X08).
		{nr: unix.SYS_PRLIMIT64, when: argIs(0, allow, refuse, 0)},
		// A user namespace inside would hold every capability again. clone3 hides its flags in memory; told
		// that there is no such call, the C libraries fall back to clone.
		{nr: unix.SYS_UNSHARE, when: argHas(0, unix.CLONE_NEWUSER)},
		{nr: unix.SYS_CLONE, when: argHas(0, unix.CLONE_NEWUSER)},
		{nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		{nr: unix.SYS_SETNS, errno: unix.EPERM},
		// Its rings make sockets, and more, without a system call for each.
		{nr: unix.SYS_IO_URING_SETUP, errno: unix.EPERM},
		// The keyrings of the user and of the login session hold other programs' secrets.
		{nr: unix.SYS_KEYCTL, errno: unix.EPERM},
		{nr: unix.SYS_ADD_KEY, errno: unix.EPERM},
		{nr: unix.SYS_REQUEST_KEY, errno: unix.EPERM},
	}
	if model {
		// A network namespace covers neither Unix sockets with a path nor vsock, Bluetooth and others of their
		// kind, so only what it does cover can be made (X09). Netlink is for the list of interfaces, nothing else.
		// A pair of datagram sockets could be sent elsewhere than to each other; streams cannot.
		list = append(list,
			denial{nr: unix.SYS_SOCKET, when: modelSocket()},
			denial{nr: unix.SYS_SOCKETPAIR, when: modelPair()})
	}
	return list
}

// filter builds the program: architecture, then a chain of comparisons, each with its own way out.
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

// argIs returns match where the argument is one of values.
func argIs(arg uint32, match, other unix.SockFilter, values ...uint32) []unix.SockFilter {
	prog := []unix.SockFilter{load(dataArg + 8*arg)}
	for i, v := range values {
		prog = append(prog, jump(unix.BPF_JEQ, v, uint8(len(values)-i), 0))
	}
	return append(prog, other, match)
}

// argHas refuses where the argument holds the bit.
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

// modelPair allows pairs of streams; a socket's type carries flags in its upper bits.
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

// loadFilter binds this thread, and what it becomes. It needs no_new_privs.
func loadFilter(model bool) error {
	prog := filter(model)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return noSeccomp(errno)
	}
	return nil
}

// seccompSupported asks for an answer that the filter gives.
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
