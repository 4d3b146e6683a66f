package host

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endWithHost: macOS has no parent-death signal (documented limit).
func endWithHost(*syscall.SysProcAttr) {}

// HideMemory keeps debuggers from the host's memory (T08).
func HideMemory() { unix.PtraceDenyAttach() }

// terminals are the terminals behind a launch's descriptors, which its profile names one by one.
func (io Stdio) terminals() (paths []string) {
	for _, f := range []*os.File{io.In, io.Out, io.Err} {
		var path [unix.PathMax]byte
		if f == nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA); err != nil {
			continue
		}
		_, _, errno := unix.Syscall(unix.SYS_FCNTL, f.Fd(), unix.F_GETPATH, uintptr(unsafe.Pointer(&path[0])))
		if name, _, _ := bytes.Cut(path[:], []byte{0}); errno == 0 && len(name) > 0 {
			paths = append(paths, string(name))
		}
	}
	return paths
}

// systemTempEnv has the system's own libraries, which do not ask TMPDIR, use the session's folder too: they make their
// folder for temporary files out of the user's and this suffix.
func systemTempEnv(temp string) []string {
	return []string{"DIRHELPER_USER_DIR_SUFFIX=" + filepath.Base(temp)}
}
