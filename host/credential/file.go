package credential

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hostshim/shim"
)

var (
	errNotRegular = errors.New("not a regular file")
	errChanged    = errors.New("changed again and again while it was opened")
)

// File is what ReadFile found.
type File struct {
	Data  []byte
	Mode  uint32 // permission bits, set-id and sticky bits
	Links uint64 // hard links: the names that it has
}

// Read reads the token file that the setting key names; path comes from Expand (T03, T04, T06). The error
// reads `<key> <path>: <reason>`. The file is read anew at each call, so a changed one is noticed (T05).
func Read(key, path string) (token Secret, warnings []string, err error) {
	return (*Reader)(nil).Read(key, path)
}

// ReadFile reads a regular file of at most limit bytes. Only the caller and root may be able to change the file or to put
// another one in its place. The error is the bare reason, in the system's own words where the system refused. ReadFile never
// blocks, and it checks what it has opened.
func ReadFile(path string, limit int) (File, error) { return (*Reader)(nil).ReadFile(path, limit) }

// Read is like the function Read.
func (r *Reader) Read(key, path string) (token Secret, warnings []string, err error) {
	file, err := r.ReadFile(path, shim.MaxToken)
	if err != nil {
		return Secret{}, nil, fmt.Errorf("%s %s: %w", key, path, err)
	}
	content, err := trim(file.Data)
	if err != nil {
		clear(file.Data)
		return Secret{}, nil, fmt.Errorf("%s %s: %w", key, path, err)
	}
	if file.Mode&0o044 != 0 {
		warnings = append(warnings, fmt.Sprintf("%s %s: other users can read it (mode %04o): chmod 600 %s", key, path, file.Mode, path))
	}
	if file.Links > 1 {
		// A sandbox denies the file by its path, and nobody can tell which other paths lead to it.
		warnings = append(warnings, fmt.Sprintf("%s %s: has %d hard links, a sandbox can deny only this one", key, path, file.Links))
	}
	return NewSecret(content), warnings, nil
}

// ReadFile is like the function ReadFile.
func (r *Reader) ReadFile(path string, limit int) (File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return File{}, err
	}
	fd, st, err := r.open(path, uint32(os.Geteuid()))
	if err != nil {
		return File{}, err
	}
	defer unix.Close(fd)
	data, err := readAll(fd, st.Size, limit)
	if err != nil {
		return File{}, err
	}
	return File{Data: data, Mode: uint32(st.Mode) & 0o7777, Links: uint64(st.Nlink)}, nil
}

// open opens path for the user me and checks the file and every folder on the way. Somebody who may replace the file can
// do so between the open and the check of the folders; open then repeats both.
func (r *Reader) open(path string, me uint32) (int, unix.Stat_t, error) {
	for range 5 {
		fd, st, err := openRegular(path)
		if err != nil {
			return -1, st, err
		}
		if reason := writers(&st, me); reason != "" {
			unix.Close(fd)
			return -1, st, fmt.Errorf("other users can write it (%s)%s", reason, cure(&st, me, path))
		}
		if r.walked(path, &st) {
			return fd, st, nil
		}
		found, err := walk(path, me)
		if err == nil && found.Dev == st.Dev && found.Ino == st.Ino {
			r.note(path, &st)
			return fd, st, nil
		}
		unix.Close(fd)
		if err != nil && err != unix.ENOENT {
			return -1, st, err
		}
	}
	return -1, unix.Stat_t{}, errChanged
}

// openRegular opens path without waiting for a FIFO's writer and without taking a terminal.
func openRegular(path string) (int, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	})
	if err == unix.ENXIO || err == unix.EOPNOTSUPP {
		return -1, st, errNotRegular // a socket, a device without a driver
	}
	if err != nil {
		return -1, st, err
	}
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// readAll reads fd to its end; size is what fstat said. It wipes a buffer that was too small, which may hold a token.
func readAll(fd int, size int64, limit int) ([]byte, error) {
	buf, n := make([]byte, min(limit, max(int(size), 64))+1), 0
	for {
		m, err := retry(func() (int, error) { return unix.Read(fd, buf[n:]) })
		if err != nil {
			clear(buf)
			return nil, err
		}
		n += m
		if m == 0 || n == int(size) && n < len(buf) { // all that fstat told of, and no more although there was room
			return buf[:n], nil
		}
		if n < len(buf) {
			continue
		}
		if n > limit {
			clear(buf)
			return nil, errTooLarge(limit)
		}
		larger := make([]byte, min(2*len(buf), limit+1))
		copy(larger, buf)
		clear(buf)
		buf = larger
	}
}

// retry repeats a system call that a signal broke off.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
