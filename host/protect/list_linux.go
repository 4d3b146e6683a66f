package protect

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// entries reads the names in a folder, maxNames or a few more. It makes four system calls a folder; package os makes
// twelve, and one for each name.
func (l *look) entries(dir string) []entry {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(l.top.Fd()), dir, &how)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var all []entry
	for len(all) < maxNames {
		n, err := unix.Getdents(fd, l.buffer)
		if err != nil || n <= 0 {
			break
		}
		all = l.names(all, dir, l.buffer[:n])
	}
	return all
}

// names reads the records of getdents64: inode and offset of 8 bytes each, length of 2, type of 1, name and NUL.
func (l *look) names(all []entry, dir string, records []byte) []entry {
	const length, kind, name = 16, 18, 19
	for len(records) > name {
		size := int(binary.NativeEndian.Uint16(records[length:]))
		if size <= name || size > len(records) {
			break
		}
		e := entry{isDir: records[kind] == unix.DT_DIR}
		text, _, _ := bytes.Cut(records[name:size], []byte{0})
		if e.name = string(text); e.name != "." && e.name != ".." {
			if records[kind] == unix.DT_UNKNOWN {
				info, err := l.root.Lstat(filepath.Join(dir, e.name))
				e.isDir = err == nil && info.Mode()&fs.ModeDir != 0
			}
			all = append(all, e)
		}
		records = records[size:]
	}
	return all
}

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
