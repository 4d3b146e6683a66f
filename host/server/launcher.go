package server

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts shims on one thread that lives as long as the host: a shim is told of its host's end by a signal
// which belongs to the thread that started it (endWithHost), and a Go program ends threads as it likes. It also
// knows which processes are shims, from before the first of them can start anything.
type launcher struct {
	jobs chan func()

	mu    sync.Mutex
	shims map[int]int // by process number: how many; two when a number is used again before the first is forgotten
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), shims: map[int]int{}}
	go func() {
		runtime.LockOSThread()
		for job := range l.jobs {
			job()
		}
	}()
	return l
}

// start holds the lock over the start, so that nothing a shim starts is looked at before the shim is known.
func (l *launcher) start(cmd *exec.Cmd) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := make(chan error, 1)
	l.jobs <- func() { done <- cmd.Start() }
	err := <-done
	if err == nil {
		l.shims[cmd.Process.Pid]++
	}
	return err
}

// forget follows the end of a shim.
func (l *launcher) forget(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shims[pid]--; l.shims[pid] <= 0 {
		delete(l.shims, pid)
	}
}

// isShim says whether pid is a live session's shim.
func (l *launcher) isShim(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shims[pid] > 0
}
