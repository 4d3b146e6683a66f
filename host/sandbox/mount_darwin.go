package sandbox

import "golang.org/x/sys/unix"

func readOnly(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.MNT_RDONLY != 0
}
