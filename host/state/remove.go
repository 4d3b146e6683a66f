package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A session can leave a folder of any depth and size. So it is given another name, which says that its session is over,
// and removed beside everything else. What a host does not finish, or cannot remove, the next one finds by that name.
const goneSuffix = ".gone"

// removeWithin is how long anybody waits for a removal that has begun.
const removeWithin = time.Second

// Discard removes a session's temporary folder beside the caller, and calls failed where that cannot be done. The channel
// is closed when it is over.
func Discard(dir string, failed func(error)) <-chan struct{} {
	if !strings.HasSuffix(dir, goneSuffix) {
		if err := os.Rename(dir, dir+goneSuffix); err == nil {
			dir += goneSuffix
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := RemoveTree(dir); err != nil {
			failed(fmt.Errorf("temporary folder: %w; it is tried again later", err))
		}
	}()
	return done
}

// DiscardWithin does the same and waits a moment for the end, which is all that an ordinary folder needs.
func DiscardWithin(dir string, failed func(error)) <-chan struct{} {
	done := Discard(dir, failed)
	await(done)
	return done
}

func await(done <-chan struct{}) {
	timer := time.NewTimer(removeWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// DiscardGone removes what earlier hosts did not finish, one folder after the other: each takes some descriptors
// meanwhile. It waits a moment for the end. The names lie in a folder where others can write too: only a folder of this
// user counts.
func DiscardGone(failed func(error)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		discardGone(failed)
	}()
	await(done)
}

func discardGone(failed func(error)) {
	dirs, _ := filepath.Glob(filepath.Join(RealTemp(), tempPrefix+"*"+goneSuffix))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			<-Discard(dir, failed)
		}
	}
}

// RemoveTree removes a session's temporary folder, whatever its depth, with a handful of descriptors, and also where the
// session took its own rights to folders in it. Each folder found in it is moved up to the top, and then emptied there. The
// session wrote all this, so nothing may lead out of it: package os follows no link out of a root. Where another host
// removes the same folder it is left to that one.
func RemoveTree(dir string) error {
	// A session may have been granted the folder above, and another one may put a link here at any moment.
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	name := filepath.Base(dir)
	info, err := above.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	if err := above.Chmod(name, 0o700); err != nil {
		return err
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	if opened, err := root.Stat("."); err != nil {
		return err
	} else if !os.SameFile(opened, info) {
		return fmt.Errorf("%s: replaced meanwhile", dir)
	}
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	if syscall.Flock(int(top.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK {
		return nil
	}
	var id [8]byte
	rand.Read(id[:])
	f := flattening{root: root, prefix: hex.EncodeToString(id[:]) + "-"}
	f.empty(".")
	for n := 0; n < f.made; n++ {
		name := f.prefix + strconv.Itoa(n)
		f.empty(name)
		f.note(root.Remove(name))
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, errors.Join(f.err, Reasonless(err)))
	}
	return nil
}

// Reasonless is the system's own word for an error, without the path and the call.
func Reasonless(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// flattening empties folders of a root. Folders in them get a number at the top, in the order in which they are found.
type flattening struct {
	root   *os.Root
	prefix string
	made   int
	err    error // the first
}

func (f *flattening) note(err error) {
	if f.err == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.err = err
	}
}

// empty removes the files of a folder and moves its folders to the top.
func (f *flattening) empty(folder string) {
	d, err := f.root.Open(folder)
	if err != nil {
		f.note(err)
		return
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			switch {
			case strings.HasPrefix(path, f.prefix) && folder == ".": // moved here
			case e.IsDir():
				f.root.Chmod(path, 0o700) // a folder's own rights decide whether it can be moved
				if err := f.root.Rename(path, f.prefix+strconv.Itoa(f.made)); err != nil {
					f.note(err)
					continue
				}
				f.made++
			default:
				f.note(f.root.Remove(path))
			}
		}
		if err != nil {
			if err != io.EOF {
				f.note(err)
			}
			return
		}
	}
}
