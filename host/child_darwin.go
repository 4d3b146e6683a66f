package host

import (
	"os"
	"syscall"
)

// handle knows whether its process was reaped.
type handle struct{ *os.Process }

func (s *child) kill(sig syscall.Signal) { s.Process.Signal(sig) }

// watch has the shim reaped at its end. The caller has the lock.
func (s *child) watch(p *os.Process) {
	s.handle = handle{p}
	go func() {
		state, err := p.Wait()
		var status syscall.WaitStatus
		if err == nil {
			status, _ = state.Sys().(syscall.WaitStatus)
		}
		s.all.mu.Lock()
		defer s.all.mu.Unlock()
		s.all.reaped(s, status, err == nil)
	}()
}
