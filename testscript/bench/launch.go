//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	resident = 100  // sessions while the shim's memory is looked at
	crowd    = 1000 // live sessions of the host that has many
	logged   = 120_000
)

// fullLog is a session that has written more than the host keeps, and then waits.
var fullLog = []string{"/bin/sh", "-c", fmt.Sprintf("head -c %d /dev/zero; exec sleep 1000", logged)}

func launchSection(b *bench, t *table) error {
	alone, err := b.startHost("alone", "")
	if err != nil {
		return err
	}
	many, err := b.startHost("many", "")
	if err != nil {
		return err
	}
	if _, _, err := alone.launch("resident", "pty", "/bin/sleep", "1000"); err != nil {
		return err
	}
	if err := b.launchTimes(t, alone); err != nil {
		return err
	}
	before, err := settledMemory(many.Process.Pid)
	if err != nil && t.orSkip("memory of the host", err) != nil {
		return err
	}
	if err := many.fill(resident); err != nil {
		return err
	}
	if err := t.orSkip("memory of the shim", b.residentShims(t, many)); err != nil {
		return err
	}
	if err := many.fill(crowd); err != nil {
		return err
	}
	if after, err := settledMemory(many.Process.Pid); err == nil {
		t.add(fmt.Sprintf("host memory per live pty session, at %d, full log", crowd), "KiB",
			samples{(after - before) / crowd}, reference{}, atMost(160))
	}
	one, crowded := alone.launches("with 1 live", "pty"), many.launches("with 1,000 live", "pty")
	if err := interleave(b.count(150), one, crowded); err != nil {
		return err
	}
	t.add("launch with 1,000 live sessions, as above", "µs", crowded.got, reference{"with 1", one.got}, ratioAtMost(1.2))
	return nil
}

// launchTimes measures a launch beside bwrap.
func (b *bench) launchTimes(t *table, h *host) error {
	one, pipes := h.launches("launch", "pty"), h.launches("launch with pipes", "claude")
	sides, ref, err := withBwrap(t, one, pipes)
	if err != nil {
		return err
	}
	if err := interleave(b.count(150), sides...); err != nil {
		return err
	}
	t.add("launch request to answer, sandboxed, with a token", "µs", one.got, reference{"bwrap", ref.got}, ratioAtMost(1.2))
	t.add("the same for pipes in place of a terminal", "µs", pipes.got, reference{"bwrap", ref.got}, noGoal)
	return nil
}

// fill launches sessions with a full log, four at a time, until there are n.
func (h *host) fill(n int) error {
	ids := make(chan string, n)
	for ; h.made < n; h.made++ {
		ids <- fmt.Sprintf("full-%d", h.made)
	}
	close(ids)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range 4 {
		wg.Go(func() {
			for id := range ids {
				if _, _, err := h.launch(id, "pty", fullLog...); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	return until("full logs", 30*time.Second, func() bool {
		list, err := h.sessions()
		full := 0
		for _, v := range list {
			if v.OutputBytes >= logged {
				full++
			}
		}
		return err == nil && full >= n
	})
}

// residentShims compares the shims of live sessions with as many of the reference.
func (b *bench) residentShims(t *table, h *host) error {
	list, err := h.sessions()
	if err != nil {
		return err
	}
	var inits []*proc
	if tini, err := program("tini"); err == nil {
		for range resident {
			p, err := b.start("tini", exec.Command(tini, "-s", "--", "/bin/sleep", "1000"))
			if err != nil {
				return err
			}
			inits = append(inits, p)
		}
	} else if err := t.orSkip("memory of tini", err); err != nil {
		return err
	}
	time.Sleep(time.Second) // they settle
	var ours, ref [2]samples
	look := func(pid int, to *[2]samples) error {
		kib, err1 := memoryKiB(pid)
		n, err2 := threads(pid)
		to[0], to[1] = append(to[0], kib), append(to[1], n)
		return errors.Join(err1, err2)
	}
	for _, v := range list {
		if err := look(v.RootPID, &ours); err != nil {
			return err
		}
	}
	for _, p := range inits {
		if err := look(p.Process.Pid, &ref); err != nil {
			return err
		}
	}
	name := ""
	if len(inits) > 0 {
		name = "tini"
	}
	t.add(fmt.Sprintf("resident shim, PSS at %d", resident), "KiB", ours[0], reference{name, ref[0]}, atMost(700))
	t.add("resident shim, threads", "", ours[1], reference{name, ref[1]}, atMost(5))
	for _, p := range inits {
		for _, pid := range children(p.Process.Pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		p.Process.Kill()
	}
	return nil
}

// settledMemory is the host's memory once the garbage of starting is gone: the runtime gives pages back in the
// background.
func settledMemory(pid int) (float64, error) {
	time.Sleep(3 * time.Second)
	return memoryKiB(pid)
}
