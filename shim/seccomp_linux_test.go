package shim

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// call is what a filter sees of a system call.
type call struct {
	nr, arch uint32
	args     [6]uint64
}

// run executes a filter as the kernel would and returns its verdict.
func run(t *testing.T, prog []unix.SockFilter, c call) uint32 {
	var data [64]byte
	binary.LittleEndian.PutUint32(data[dataNr:], c.nr)
	binary.LittleEndian.PutUint32(data[dataArch:], c.arch)
	for i, a := range c.args {
		binary.LittleEndian.PutUint64(data[dataArg+8*i:], a)
	}
	var acc uint32
	for pc := 0; pc < len(prog); pc++ {
		in := prog[pc]
		var taken bool
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = binary.LittleEndian.Uint32(data[in.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			taken = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			taken = acc >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			taken = acc&in.K != 0
		default:
			t.Fatalf("instruction %d: code %#x", pc, in.Code)
		}
		if taken {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("ran past the end")
	return 0
}

func TestFilter(t *testing.T) {
	const (
		pass = unix.SECCOMP_RET_ALLOW
		perm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		nsys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		high = 1 << 32
	)
	type args = [6]uint64
	for _, c := range []struct {
		name        string
		nr          uint32
		args        args
		open, model uint32
	}{
		{"read", unix.SYS_READ, args{}, pass, pass},
		{"execve", unix.SYS_EXECVE, args{}, pass, pass},
		{"highest number", 0x3fffffff, args{}, pass, pass},
		{"x32 getpid", foreignBit | unix.SYS_GETPID, args{}, perm, perm},
		{"number -1", 0xffffffff, args{}, perm, perm},
		{"TIOCSTI", unix.SYS_IOCTL, args{0, unix.TIOCSTI}, perm, perm},
		{"TIOCSTI, high bit set", unix.SYS_IOCTL, args{0, high | unix.TIOCSTI}, perm, perm},
		{"TIOCLINUX", unix.SYS_IOCTL, args{0, unix.TIOCLINUX}, perm, perm},
		{"TIOCGWINSZ", unix.SYS_IOCTL, args{unix.TIOCSTI, unix.TIOCGWINSZ}, pass, pass},
		{"own limits", unix.SYS_PRLIMIT64, args{0, 7}, pass, pass},
		{"own limits, high bit set", unix.SYS_PRLIMIT64, args{high, 7}, pass, pass},
		{"other limits", unix.SYS_PRLIMIT64, args{1, 7}, perm, perm},
		{"thread", unix.SYS_CLONE, args{unix.CLONE_VM | unix.CLONE_THREAD}, pass, pass},
		{"user namespace", unix.SYS_CLONE, args{unix.CLONE_NEWUSER | 17}, perm, perm},
		{"user namespace, high bit set", unix.SYS_CLONE, args{high | unix.CLONE_NEWUSER}, perm, perm},
		{"unshare", unix.SYS_UNSHARE, args{unix.CLONE_FS}, pass, pass},
		{"unshare user namespace", unix.SYS_UNSHARE, args{unix.CLONE_NEWUSER | unix.CLONE_NEWNET}, perm, perm},
		{"clone3", unix.SYS_CLONE3, args{}, nsys, nsys},
		{"setns", unix.SYS_SETNS, args{}, perm, perm},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, args{}, perm, perm},
		{"keyctl", unix.SYS_KEYCTL, args{}, perm, perm},
		{"add_key", unix.SYS_ADD_KEY, args{}, perm, perm},
		{"request_key", unix.SYS_REQUEST_KEY, args{}, perm, perm},
		{"TIOCEXCL", unix.SYS_IOCTL, args{0, unix.TIOCEXCL}, perm, perm},
		{"TIOCSETD, high bit set", unix.SYS_IOCTL, args{0, high | unix.TIOCSETD}, perm, perm},
		{"TIOCCONS", unix.SYS_IOCTL, args{0, unix.TIOCCONS}, perm, perm},
		{"TIOCNXCL", unix.SYS_IOCTL, args{0, unix.TIOCNXCL}, pass, pass},
		{"fchmod", unix.SYS_FCHMOD, args{0, 0o1777, 0o6000}, pass, pass},
		{"fchmod setuid", unix.SYS_FCHMOD, args{0, 0o4755}, perm, perm},
		{"fchmod setgid, high bit set", unix.SYS_FCHMOD, args{0, high | 0o2755}, perm, perm},
		{"fchmodat", unix.SYS_FCHMODAT, args{0, 0o6000, 0o755, 0o6000}, pass, pass},
		{"fchmodat setuid", unix.SYS_FCHMODAT, args{0, 0, 0o4755}, perm, perm},
		{"fchmodat2 setgid", unix.SYS_FCHMODAT2, args{0, 0, 0o2755}, perm, perm},
		{"mkdirat setgid, which the kernel masks", unix.SYS_MKDIRAT, args{0, 0, 0o2755}, pass, pass},
		{"mknodat setuid", unix.SYS_MKNODAT, args{0, 0, unix.S_IFREG | 0o4755}, perm, perm},
		{"mknodat file", unix.SYS_MKNODAT, args{0, 0, unix.S_IFREG | 0o644}, pass, pass},
		{"mknodat FIFO", unix.SYS_MKNODAT, args{0, 0, unix.S_IFIFO | 0o644}, pass, pass},
		{"mknodat socket", unix.SYS_MKNODAT, args{0, 0, unix.S_IFSOCK | 0o644}, pass, pass},
		{"mknodat whiteout", unix.SYS_MKNODAT, args{0, 0, unix.S_IFCHR | 0o644}, perm, perm},
		{"mknodat disk", unix.SYS_MKNODAT, args{0, 0, unix.S_IFBLK | 0o644}, perm, perm},
		{"renameat2", unix.SYS_RENAMEAT2, args{0, 4, 0, 4, unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE}, pass, pass},
		{"renameat2 that leaves a whiteout", unix.SYS_RENAMEAT2, args{0, 0, 0, 0, unix.RENAME_WHITEOUT}, perm, perm},
		{"openat that makes nothing", unix.SYS_OPENAT, args{0, 0, unix.O_RDWR | unix.O_DIRECTORY, 0o6755}, pass, pass},
		{"openat O_CREAT", unix.SYS_OPENAT, args{0, 0, unix.O_CREAT, 0o755}, pass, pass},
		{"openat O_CREAT setuid", unix.SYS_OPENAT, args{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, perm, perm},
		{"openat O_TMPFILE setgid", unix.SYS_OPENAT, args{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o2755}, perm, perm},
		{"openat2", unix.SYS_OPENAT2, args{}, nsys, nsys},
		{"AF_INET", unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM}, pass, pass},
		{"AF_INET6", unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_DGRAM}, pass, pass},
		{"AF_UNIX", unix.SYS_SOCKET, args{unix.AF_UNIX, unix.SOCK_STREAM}, pass, perm},
		{"AF_UNIX, high bit set", unix.SYS_SOCKET, args{high | unix.AF_UNIX, unix.SOCK_STREAM}, pass, perm},
		{"AF_VSOCK", unix.SYS_SOCKET, args{unix.AF_VSOCK, unix.SOCK_STREAM}, pass, perm},
		{"AF_BLUETOOTH", unix.SYS_SOCKET, args{unix.AF_BLUETOOTH}, pass, perm},
		{"route netlink", unix.SYS_SOCKET, args{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, pass, pass},
		{"other netlink", unix.SYS_SOCKET, args{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, pass, perm},
		{"stream pair", unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, pass, pass},
		{"packet pair", unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, unix.SOCK_SEQPACKET}, pass, pass},
		{"datagram pair", unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, pass, perm},
		{"raw pair", unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, unix.SOCK_RAW}, pass, perm},
	} {
		seen := call{c.nr, auditArch, c.args}
		if got := run(t, filter(false), seen); got != c.open {
			t.Errorf("%s, open network: %#x, want %#x", c.name, got, c.open)
		}
		if got := run(t, filter(true), seen); got != c.model {
			t.Errorf("%s, model network: %#x, want %#x", c.name, got, c.model)
		}
		seen.arch = unix.AUDIT_ARCH_I386
		if got := run(t, filter(false), seen); got != perm {
			t.Errorf("%s of another architecture: %#x", c.name, got)
		}
	}
}

// The old system calls, which only some architectures have.
func TestFilterOldCalls(t *testing.T) {
	const perm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	for _, nr := range secondArgModes {
		if got := run(t, filter(false), call{nr, auditArch, [6]uint64{0, 0o4755}}); got != perm {
			t.Errorf("call %d makes a set-user-ID file: %#x", nr, got)
		}
		if got := run(t, filter(false), call{nr, auditArch, [6]uint64{0o6000, 0o755, 0o6000}}); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d cannot make an ordinary file: %#x", nr, got)
		}
	}
	for _, nr := range openCalls {
		if got := run(t, filter(false), call{nr, auditArch, [6]uint64{0, unix.O_CREAT, 0o2755}}); got != perm {
			t.Errorf("call %d makes a set-group-ID file: %#x", nr, got)
		}
		if got := run(t, filter(false), call{nr, auditArch, [6]uint64{0, unix.O_RDONLY, 0o6755}}); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d cannot open a file: %#x", nr, got)
		}
	}
}

// The kernel refuses a program that jumps out of itself or is too long.
func TestFilterIsSmallAndClosed(t *testing.T) {
	for _, model := range []bool{false, true} {
		prog := filter(model)
		if len(prog) > 104 {
			t.Errorf("%d instructions", len(prog))
		}
		for i, in := range prog {
			if in.Code&7 == unix.BPF_JMP && i+1+int(max(in.Jt, in.Jf)) >= len(prog) {
				t.Errorf("instruction %d jumps past the end", i)
			}
		}
	}
}
