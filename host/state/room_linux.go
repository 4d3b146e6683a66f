package state

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeRoom has the disk keep room behind the end of f, which stays as long as it is. A file system that cannot do this
// is no reason to refuse.
func takeRoom(f *os.File, info os.FileInfo, room int64) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Blocks*512-st.Size >= room {
		return nil
	}
	switch err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), 2*room); err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.EINTR, nil:
		return nil
	default:
		return err
	}
}
