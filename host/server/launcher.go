package server

import (
	"os/exec"
	"runtime"
)

// launcher starts shims on one thread that lives as long as the host: a shim is told of its host's end by a signal that
// belongs to the thread which started it (endWithHost), and a Go program ends threads as it likes.
type launcher chan func()

func newLauncher() launcher {
	l := make(launcher)
	go func() {
		runtime.LockOSThread()
		for job := range l {
			job()
		}
	}()
	return l
}

func (l launcher) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	l <- func() { done <- cmd.Start() }
	return <-done
}
