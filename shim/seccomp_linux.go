package shim

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter refuses the few system calls that reach past Landlock and the dropped capabilities (X08–X11). It is small on
// purpose: a list of allowed calls would break programs that people run in the sandbox.

// denial is system calls and the condition under which they fail.
type denial struct {
	calls []uint32
	when  []unix.SockFilter // ends in a return; nil: always
	errno unix.Errno
}

func calls(numbers ...uint32) []uint32 { return numbers }

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
		// An exclusive terminal, another line discipline or a diverted console would lock the user out (X14).
		{calls: calls(unix.SYS_IOCTL), when: argIs(1, refuse, allow, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCEXCL, unix.TIOCSETD, unix.TIOCCONS)},
		// Other processes' limits (X08).
		{calls: calls(unix.SYS_PRLIMIT64), when: argIs(0, allow, refuse, 0)},
		// In a new user namespace the target would have every capability again. clone3 keeps its flags in memory, where
		// a filter cannot look. On ENOSYS the C libraries use clone instead.
		{calls: calls(unix.SYS_UNSHARE, unix.SYS_CLONE), when: argHas(0, unix.CLONE_NEWUSER)},
		{calls: calls(unix.SYS_CLONE3), errno: unix.ENOSYS},
		{calls: calls(unix.SYS_SETNS), errno: unix.EPERM},
		// A ring makes sockets, opens files and more without system calls, so past any filter.
		{calls: calls(unix.SYS_IO_URING_SETUP), errno: unix.EPERM},
		// The keyrings of the user and the login session hold other programs' secrets.
		{calls: calls(unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY), errno: unix.EPERM},
	}
	list = append(list, setIDDenials()...)
	if model {
		// A network namespace does not confine Unix sockets with a path, vsock, Bluetooth and others. So the target can
		// make only the kinds that it does confine (X09). Netlink is allowed for listing interfaces only. One of a pair
		// of datagram sockets can send to another socket than its peer; a stream cannot.
		list = append(list,
			denial{calls: calls(unix.SYS_SOCKET), when: modelSocket()},
			denial{calls: calls(unix.SYS_SOCKETPAIR), when: modelPair()})
	}
	return list
}

// setIDDenials keep the target from making set-user-ID and set-group-ID files (X14). Started by another user, such a
// file would run with this user's rights, outside of any sandbox. The mode of openat2 is in memory, where a filter cannot
// look. On ENOSYS programs use openat instead. mkdir is free: the kernel masks these bits in its mode on every file system, and
// cp -r asks for them in a folder that has the set-group-ID bit.
func setIDDenials() []denial {
	const (
		setID      = unix.S_ISUID | unix.S_ISGID
		deviceNode = unix.S_IFCHR & unix.S_IFBLK // in both types, and in no other that mknod makes
	)
	return []denial{
		{calls: append(calls(unix.SYS_FCHMOD), secondArgModes...), when: argHas(1, setID)},
		{calls: calls(unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2), when: argHas(2, setID)},
		// No device nodes either. Landlock lets a whiteout pass since 2026 (6.12.117), and a rename that leaves one.
		{calls: nodeCalls, when: argHas(1, setID|deviceNode)},
		{calls: calls(unix.SYS_MKNODAT), when: argHas(2, setID|deviceNode)},
		{calls: calls(unix.SYS_RENAMEAT2), when: argHas(4, unix.RENAME_WHITEOUT)},
		{calls: openCalls, when: openHas(1, setID)},
		{calls: calls(unix.SYS_OPENAT), when: openHas(2, setID)},
		{calls: calls(unix.SYS_OPENAT2), errno: unix.ENOSYS},
	}
}

// filter builds the program: it checks the architecture, then compares the call with each denial in turn.
func filter(model bool) []unix.SockFilter {
	prog := append(make([]unix.SockFilter, 0, 256), // all of it, so that no smaller list is filled first
		load(dataArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		refuse,
		load(dataNr),
		jump(unix.BPF_JGE, foreignBit, 0, 1),
		refuse,
	)
	for _, d := range denials(model) {
		then := d.when
		if then == nil {
			then = []unix.SockFilter{fail(d.errno)}
		}
		last := len(d.calls) - 1
		if last < 0 {
			continue // this architecture has none of these calls
		}
		for i, nr := range d.calls[:last] {
			prog = append(prog, jump(unix.BPF_JEQ, nr, uint8(last-i), 0))
		}
		prog = append(prog, jump(unix.BPF_JEQ, d.calls[last], 0, uint8(len(then))))
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

// argHas refuses if the argument has one of the bits set.
func argHas(arg, bits uint32) []unix.SockFilter {
	return []unix.SockFilter{load(dataArg + 8*arg), jump(unix.BPF_JSET, bits, 0, 1), refuse, allow}
}

// openHas refuses if the call makes a file and its mode, which follows the flags, has one of the bits set. Other opens
// have no mode, and anything may be in its place.
func openHas(flags, bits uint32) []unix.SockFilter {
	const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	prog := []unix.SockFilter{load(dataArg + 8*flags), jump(unix.BPF_JSET, makes, 1, 0), allow}
	return append(prog, argHas(flags+1, bits)...)
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
