package host

import (
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	base := filepath.Join(home, "Library", "Application Support", "relay-host")
	return filepath.Join(base, "state"), filepath.Join(base, "data")
}

// endWithHost: macOS has no parent-death signal (documented limit).
func endWithHost(*syscall.SysProcAttr) {}

// HideMemory keeps debuggers from the host's memory (T08).
func HideMemory() { unix.PtraceDenyAttach() }
