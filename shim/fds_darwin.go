package shim

import "golang.org/x/sys/unix"

// pathOnly: macOS has no descriptor that can be neither read nor written.
const pathOnly = 0

// keepAllFromChildren: macOS has no single call; the caller walks /dev/fd.
func keepAllFromChildren() bool { return false }

// hideMemory keeps debuggers from the shim's memory (S21).
func hideMemory() { unix.PtraceDenyAttach() }
