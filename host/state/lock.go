package state

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// HostLock makes this the one long-lived host of the state folder; EWOULDBLOCK: there is one. The file stays: once it
// was removed, two hosts could lock two files of one name.
func (p Places) HostLock() (*os.File, error) {
	return lockFile(filepath.Join(p.State, "host.lock"), os.O_RDWR|os.O_CREATE, 0)
}

// lockFile opens and locks path; EWOULDBLOCK: somebody else still has it locked after that time. The file may have been
// removed between opening and locking. Then the lock is on a file that nobody else will find, and is tried anew.
func lockFile(path string, flags int, within time.Duration) (*os.File, error) {
	deadline := time.Now().Add(within)
	for {
		f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f, deadline); err != nil {
			f.Close()
			return nil, err
		}
		held, err1 := f.Stat()
		seen, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, seen) {
			return f, nil
		}
		f.Close()
		if flags&os.O_CREATE == 0 {
			return nil, os.ErrNotExist
		}
	}
}

// flock locks f; EWOULDBLOCK: somebody else has it locked at the deadline.
func flock(f *os.File, deadline time.Time) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK || !time.Now().Before(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func unlock(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
