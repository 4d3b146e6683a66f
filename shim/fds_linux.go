package shim

import "golang.org/x/sys/unix"

// pathOnly is the flag of a descriptor that can be neither read nor written.
const pathOnly = unix.O_PATH

// closeAllOnExec marks every descriptor above 2 close-on-exec in one call (Linux 5.11).
func closeAllOnExec() bool {
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil
}

// makeUndumpable keeps this process from leaving a core, and other processes out of its memory and /proc entries (S21).
// The target is dumpable again, because execve resets this.
func makeUndumpable() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
