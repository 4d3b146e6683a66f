//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// growthSection measures what should grow slowly, or not at all: each row beside the smallest of its kind, with the slope.
// Named on the command line it measures the largest sizes too, which takes minutes.
func growthSection(b *bench, t *table) error {
	for _, measure := range []func(*table) error{b.growingGrants, b.growingProject, b.growingAudit, b.growingOutput, b.growingSessions, b.refusedFlood} {
		if err := measure(t); err != nil {
			return err
		}
	}
	return nil
}

// step is one size of what grows.
type step struct {
	size int
	got  samples
}

// addSteps makes a row a step. The slope is what one more of many costs, from the smallest to the largest.
func (t *table) addSteps(measure, unit, each string, steps []step) {
	first, last := steps[0], steps[len(steps)-1]
	for _, s := range steps[1:] {
		t.add(fmt.Sprintf(measure, s.size), unit, s.got, reference{fmt.Sprint("with ", first.size), first.got}, noGoal)
	}
	slope := (last.got.median() - first.got.median()) / float64(last.size-first.size)
	t.notes = append(t.notes, fmt.Sprintf("%s: %.3g %s %s.", fmt.Sprintf(measure, last.size), slope, unit, each))
}

// runs measures launches with one template each, in turn, to the first byte.
func (b *bench) runs(h *home, dirs, templates []string) (list []samples, err error) {
	var sides []*side
	for i := range templates {
		argv := append([]string{filepath.Join(b.bin, "host"), "run", "--template", templates[i], "--credential", "none", "--dir", dirs[i], "--"}, speak...)
		sides = append(sides, spoken(templates[i], spec{argv: argv, env: h.env}))
	}
	err = interleave(b.count(20), sides...)
	for _, s := range sides {
		list = append(list, s.got)
	}
	return list, err
}

func (b *bench) growingGrants(t *table) error {
	h, err := b.newHome("grants", "")
	if err != nil {
		return err
	}
	many := filepath.Join(b.dir, "granted")
	if err := os.Mkdir(many, 0o700); err != nil {
		return err
	}
	sizes := []int{10, 1000, 10000}
	var list []map[string]any
	var dirs, names []string
	var read []string
	for _, n := range sizes {
		for i := len(read); i < n; i++ {
			read = append(read, fmt.Sprintf("%s/%d", many, i))
			if err := os.WriteFile(read[i], nil, 0o600); err != nil {
				return err
			}
		}
		names, dirs = append(names, fmt.Sprint("grants-", n)), append(dirs, b.project())
		list = append(list, map[string]any{"id": names[len(names)-1], "command": "/bin/true", "read": read[:n]})
	}
	text, err := json.Marshal(map[string]any{"terminal_templates": list})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(h.token), "settings.json"), text, 0o600); err != nil {
		return err
	}
	got, err := b.runs(h, dirs, names)
	if err != nil {
		return err
	}
	steps := make([]step, len(sizes))
	for i := range sizes {
		steps[i] = step{sizes[i], got[i]}
	}
	t.addSteps("`host run` with %d grants", "µs", "a grant", steps)
	return nil
}

func (b *bench) growingProject(t *table) error {
	h, err := b.newHome("projects", "")
	if err != nil {
		return err
	}
	sizes := []int{100, 100_000}
	var dirs []string
	for _, n := range sizes {
		dir := filepath.Join(b.dir, fmt.Sprint("files-", n))
		dirs = append(dirs, dir)
		for i := range n {
			folder := fmt.Sprintf("%s/%d", dir, i/100)
			if i%100 == 0 {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					return err
				}
			}
			if err := os.WriteFile(fmt.Sprintf("%s/%d.go", folder, i), nil, 0o600); err != nil {
				return err
			}
		}
	}
	got, err := b.runs(h, dirs, []string{benchTemplate, benchTemplate})
	if err != nil {
		return err
	}
	t.addSteps("`host run` in a project of %d files", "µs", "a file", []step{{sizes[0], got[0]}, {sizes[1], got[1]}})
	return nil
}

func (b *bench) growingSessions(t *table) error {
	raiseFiles()
	h, err := b.startHost("growing", "")
	if err != nil {
		return err
	}
	var took, memory []step
	live := 0
	for _, n := range []int{1, 100, 1000, 4000} {
		if n > b.sessions {
			t.notes = append(t.notes, fmt.Sprintf("with %d live sessions: `bench growth`.", n))
			continue
		}
		if err := h.keep(live, n); err != nil {
			if len(took) == 0 {
				return err
			}
			t.notes = append(t.notes, fmt.Sprintf("skipped %d live sessions: %v", n, err))
			break
		}
		live = n
		side := h.launches("launch", "pty")
		if err := interleave(b.count(40), side); err != nil {
			return err
		}
		took = append(took, step{n, side.got})
		if kib, err := settledMemory(h.Process.Pid); err == nil {
			memory = append(memory, step{n, samples{kib}})
		}
	}
	t.addSteps("launch with %d live sessions", "µs", "a session", took)
	if len(memory) > 1 {
		t.addSteps("the host's memory with %d, no output", "KiB", "a session", memory)
	}
	return nil
}

// keep launches sleeping sessions, four at a time, until there are n.
func (h *host) keep(from, n int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range 4 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if _, _, err := h.launch(fmt.Sprint("kept-", i), "pty", "/bin/sleep", "1000"); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
