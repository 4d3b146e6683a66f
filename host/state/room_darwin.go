package state

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeRoom says whether the disk has room behind the end of f.
func takeRoom(f *os.File, _ os.FileInfo, room int64) error {
	var disk unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &disk) == nil && disk.Bavail*uint64(disk.Bsize) < uint64(room) {
		return unix.ENOSPC
	}
	return nil
}
