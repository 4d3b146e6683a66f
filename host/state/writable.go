package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckWritable says what keeps a launch from using the state folder, and writes nothing itself. A folder that is missing is
// made by the first launch.
func (p Places) CheckWritable() error {
	if info, err := os.Stat(p.State); err == nil {
		if err := judgePrivate(p.State, info); err != nil {
			return err
		}
	}
	dir := p.State
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	for _, path := range []string{dir, filepath.Join(p.State, "sessions"), p.Profiles(), p.AuditFile()} {
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil && err != unix.ENOENT && err != unix.ENOTDIR {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
	}
	if info, err := os.Stat(p.AuditFile()); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: move it away", p.AuditFile())
	}
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) == nil && uint64(disk.Bavail)*uint64(disk.Bsize) < 4*auditRoom {
		return fmt.Errorf("the disk of %s is full", dir)
	}
	return nil
}
