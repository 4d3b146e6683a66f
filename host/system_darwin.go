package host

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithHost: macOS has no parent-death signal (documented limit).
func endWithHost(*syscall.SysProcAttr) {}

// HideMemory keeps debuggers from the host's memory (T08).
func HideMemory() { unix.PtraceDenyAttach() }

// userTempDir is the folder that the system's own libraries use for temporary files, whatever TMPDIR says.
func userTempDir() string {
	out, err := exec.Command("/usr/bin/getconf", "DARWIN_USER_TEMP_DIR").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return ""
}
