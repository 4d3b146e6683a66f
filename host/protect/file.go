package protect

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// file takes the fingerprint of one file, and of where a link leads.
func (l *look) file(path string) {
	info, err := l.root.Lstat(path)
	if err != nil || l.full() {
		return
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", info.Mode())
	if info.Mode()&fs.ModeSymlink != 0 {
		to, _ := l.root.Readlink(path)
		fmt.Fprintf(sum, "%q\n", to)
		info, err = l.root.Stat(path) // an error for what is outside
	} else if !l.keptAbove {
		l.keep(path)
	}
	if err == nil && info.Mode().IsRegular() {
		if data, whole := l.read(path, maxContent); whole {
			sum.Write(data)
		} else {
			fmt.Fprintf(sum, "%d %v\n", info.Size(), stamp(info))
		}
	}
	l.put(path, sum.Sum(nil))
}

// full counts a file, and says whether it is one too many.
func (l *look) full() bool {
	l.files--
	l.cut = l.cut || l.files < 0
	return l.files < 0
}

// put notes a fingerprint.
func (l *look) put(name string, sum []byte) { l.marks[l.prefix+name] = mark(sum[:16]) }

// keep notes a path that is to stay as it is.
func (l *look) keep(path string) {
	real, err := filepath.EvalSymlinks(filepath.Join(l.folder, path))
	if err == nil && strings.HasPrefix(real, l.folder+"/") {
		l.paths = append(l.paths, real)
	}
}

// read reads a regular file, and says whether that is all of it. Opening is non-blocking, for a FIFO may stand there by
// now.
func (l *look) read(path string, limit int) (data []byte, whole bool) {
	f, err := l.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(min(limit, l.bytes)) {
		return nil, false
	}
	l.bytes -= int(info.Size())
	data = make([]byte, info.Size()+1)
	n, _ := f.ReadAt(data, 0)
	return data[:n], int64(n) == info.Size()
}

// stamp is what changes with a file, without reading it: the kernel sets the second time, and no program can set that
// back.
func stamp(info fs.FileInfo) []byte {
	b := binary.AppendVarint(nil, info.ModTime().UnixNano())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		b = binary.AppendVarint(b, changeTime(st))
		b = binary.AppendUvarint(b, uint64(st.Ino))
	}
	return b
}
