package credential

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Reader is for who reads the same few files again and again, as the model proxy does for each request. A file is opened,
// checked and read each time. The folders above it, most of the work, are looked at again where the last look is a second
// ago, or where the name leads to another file than then, or to the same one after a change: so a file that was put in
// place is never read before a look at who could. The zero Reader is ready; a nil one always looks.
type Reader struct {
	mu    sync.Mutex
	found map[string]found
}

// found is the file that a path led to when its folders were last in order.
type found struct {
	dev, ino uint64
	changed  unix.Timespec
	at       time.Time
}

const (
	lookAgain = time.Second
	maxFound  = 64 // paths; settings that change for ever must not fill the memory
)

// walked says whether the folders above path need no look for the file st now.
func (r *Reader) walked(path string, st *unix.Stat_t) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.found[path]
	return ok && f.dev == uint64(st.Dev) && f.ino == st.Ino && f.changed == st.Ctim && time.Since(f.at) < lookAgain
}

// note remembers that the folders above path are in order.
func (r *Reader) note(path string, st *unix.Stat_t) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil || len(r.found) >= maxFound {
		r.found = map[string]found{}
	}
	r.found[path] = found{uint64(st.Dev), st.Ino, st.Ctim, time.Now()}
}
