//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// atOnce is how many launches go on beside each other.
const atOnce = 8

var killers = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL}

// target says its session's id, and leaves a process in a session of its own behind.
const target = `echo "$RELAY_SESSION_ID"; setsid sleep 600 & exec sleep 600`

// runs makes n launches by `host run`, and sends each a random signal at a random moment of its start: to the host, the shim
// or the target. A signal that comes before there is a shim, or a target, goes to who is there.
func runs(w *world, n int) (*result, error) {
	r := &result{asked: fmt.Sprintf("%d × host run, a random signal to host, shim or target", n), descriptors: -1, lines: -1, bytes: -1}
	usual, err := w.usual()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var seen []string
	deaf := 0
	err = w.each(n, atOnce, func(int) error {
		id, late, err := w.oneRun(2 * usual)
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			seen = append(seen, id)
		}
		if late != "" {
			if deaf++; deaf <= 5 {
				r.note("deaf: %s", late)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.note("%d targets ran, %d launches were deaf to their signal for %v", len(seen), deaf, settleWithin)
	return r, w.end(r, seen)
}

// usual is how long a launch takes here beside the others of this load.
func (w *world) usual() (time.Duration, error) {
	var mu sync.Mutex
	var took []time.Duration
	err := w.each(8*atOnce, atOnce, func(int) error {
		began := time.Now()
		err := w.command("host", "run", "--", "true").Run()
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(began))
		return err
	})
	slices.Sort(took)
	return took[len(took)/2], err
}

// oneRun gives the id of the session, if its target ran, and what outlived its signal for too long.
func (w *world) oneRun(moment time.Duration) (id, late string, err error) {
	cmd := w.command("host", "run", "--", "sh", "-c", target)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = settleWithin // for what was left and holds the output open
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	ended := make(chan struct{})
	go func() {
		if err := cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			late = fmt.Sprintf("something holds the output of %q, which said %q;", strings.TrimSpace(out.String()), said.String())
		}
		close(ended)
	}()
	<-time.After(w.within(moment))
	victim, unborn := w.victim(cmd.Process.Pid)
	sig := pick(w, killers)
	sent := fmt.Sprintf(" %v to %d %q, unborn %v, of %s", sig, victim, arguments(victim), unborn, tree(cmd.Process.Pid))
	syscall.Kill(victim, sig)
	if unborn {
		select {
		case <-ended:
		case <-time.After(settleWithin / 10):
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	select {
	case <-ended:
	case <-time.After(settleWithin):
		late = "still here: " + tree(cmd.Process.Pid) + "\n "
		cmd.Process.Kill()
		<-ended
	}
	if late != "" {
		late += sent
	}
	return strings.TrimSpace(out.String()), late, nil
}

// victim is the host, its shim or the target. One is unborn that is not yet, or never will be, another program than the
// one that started it: Go's runtime once tries a process that ends at once, and a signal to that one changes nothing.
func (w *world) victim(host int) (pid int, unborn bool) {
	pid = host
	for range w.within(3) {
		below := children(pid)
		if len(below) == 0 {
			break
		}
		above := arguments(pid)
		pid = pick(w, below)
		own := arguments(pid)
		unborn = own == "" || own == above
	}
	return pid, unborn
}
