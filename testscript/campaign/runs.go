//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

var killers = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL}

// target says its session's id, and leaves a process in a session of its own behind.
const target = `echo "$RELAY_SESSION_ID"; setsid sleep 600 & exec sleep 600`

// runs makes n launches by `host run`, and sends each a random signal at a random moment of its start: to the host, the shim
// or the target. A signal that comes before there is a shim, or a target, goes to who is there.
func runs(w *world, n int) (*result, error) {
	r := &result{asked: fmt.Sprintf("%d × host run, a random signal to host, shim or target", n), descriptors: -1, lines: -1, bytes: -1}
	usual, err := median(func() error { return w.command("host", "run", "--", "true").Run() })
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var seen []string
	deaf := 0
	err = each(n, 8, func(int) error {
		id, late, err := w.oneRun(4 * usual) // eight at once take longer
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			seen = append(seen, id)
		}
		if late {
			deaf++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.note("%d targets ran, %d launches were deaf to their signal for %v", len(seen), deaf, settleWithin)
	return r, w.end(r, seen)
}

// oneRun gives the id of the session, if its target ran, and whether it outlived its signal for too long.
func (w *world) oneRun(moment time.Duration) (id string, late bool, err error) {
	cmd := w.command("host", "run", "--", "sh", "-c", target)
	var out strings.Builder
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = settleWithin // for what was left and holds the output open
	if err := cmd.Start(); err != nil {
		return "", false, err
	}
	ended := make(chan struct{})
	go func() {
		if err := cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			late = true
		}
		close(ended)
	}()
	<-time.After(w.within(moment))
	victim := cmd.Process.Pid
	for depth := w.within(3); depth > 0; depth-- { // host, shim, target
		if below := children(victim); len(below) > 0 {
			victim = pick(w, below)
		}
	}
	syscall.Kill(victim, pick(w, killers))
	select {
	case <-ended:
	case <-time.After(settleWithin):
		late = true
		cmd.Process.Kill()
		<-ended
	}
	return strings.TrimSpace(out.String()), late, nil
}
