package shim

import "golang.org/x/sys/unix"

// pathOnly is 0: every descriptor on macOS can be read or written.
const pathOnly = 0

// closeAllOnExec does nothing: macOS has no such call, and the caller goes through /dev/fd.
func closeAllOnExec() bool { return false }

// makeUndumpable keeps debuggers out of this process's memory (S21).
func makeUndumpable() { unix.PtraceDenyAttach() }
