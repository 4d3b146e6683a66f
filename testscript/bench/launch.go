//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	fifo, target, err := b.fifo()
	if err != nil {
		return err
	}
	defer fifo.Close()
	first, one, pipes := h.launchesTo(fifo, target), h.launches("launch", "pty"), h.launches("launch with pipes", "claude")
	sides := []*side{first, one, pipes}
	refs, err := b.references(t, h.home)
	if err != nil {
		return err
	}
	for _, r := range refs {
		ref := spoken(r.name, r.of(target...))
		ref.once = throughFIFO(r.of(target...), fifo)
		sides = append(sides, ref)
	}
	if err := interleave(b.count(100), sides...); err != nil {
		return err
	}
	for i, r := range refs {
		g := noGoal
		if r.name == "bwrap, equal work" {
			g = ratioAtMost(1.1)
		}
		t.add("launch request to the target's first byte, sandboxed, token", "µs", first.got, sides[3+i].reference(), g)
	}
	t.add("launch request to answer", "µs", one.got, reference{}, noGoal)
	t.add("the same for pipes in place of a terminal", "µs", pipes.got, reference{}, noGoal)
	return nil
}

// fifo makes a FIFO that sessions may write, and the target that writes one byte to it.
func (b *bench) fifo() (*os.File, []string, error) {
	path := filepath.Join(b.project(), "first")
	if err := syscall.Mkfifo(path, 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // for writing too: it never ends
	return f, []string{"/bin/sh", "-c", "echo >" + path}, err
}

func readByte(f *os.File) error {
	f.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := f.Read(make([]byte, 1))
	return err
}

// launchesTo is a side that launches a target and waits for its byte and, off the clock, for the session's end.
func (h *host) launchesTo(fifo *os.File, target []string) *side {
	return &side{name: "launch", once: func() (float64, error) {
		h.made++
		id, begun := fmt.Sprintf("first-%d", h.made), time.Now()
		if _, _, err := h.launch(id, "pty", target...); err != nil {
			return 0, err
		}
		err := readByte(fifo)
		took := time.Since(begun)
		return micros(took), errors.Join(err, h.awaitEnd(id))
	}}
}

// throughFIFO starts a program and waits for its target's byte and, off the clock, for its end.
func throughFIFO(s spec, fifo *os.File) func() (float64, error) {
	return func() (float64, error) {
		begun := time.Now()
		var took time.Duration
		_, err := s.run(null.Fd(), func(int) error {
			err := readByte(fifo)
			took = time.Since(begun)
			return err
		})
		return micros(took), err
	}
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
	t.add(fmt.Sprintf("resident shim, PSS at %d", resident), "KiB", ours[0], reference{name, ref[0]}, atMost(680))
	t.add("resident shim, threads", "", ours[1], reference{name, ref[1]}, atMost(6))
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
