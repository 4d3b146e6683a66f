package shim

import "golang.org/x/sys/unix"

// auditArch is the only architecture whose system calls pass the filter (X10).
const auditArch = unix.AUDIT_ARCH_X86_64

// Old system calls that make or change a file: with the mode as second argument, and with flags before the mode.
var (
	secondArgModes = []uint32{unix.SYS_CHMOD, unix.SYS_CREAT}
	nodeCalls      = []uint32{unix.SYS_MKNOD}
	openCalls      = []uint32{unix.SYS_OPEN}
)
