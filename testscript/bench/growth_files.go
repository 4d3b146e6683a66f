//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// sizes are those of files, in MiB.
func (b *bench) sizes() []int {
	if b.large {
		return []int{1, 1024}
	}
	return []int{1, 64}
}

// auditRow is what the audit files are full of. The session of auditFirst has the first row, and no other.
const (
	auditRow   = `{"ts":"2026-01-01T00:00:00Z","event":"session_end","outcome":"ok","session_id":"run-0123456789abcdef","kind":"run","sandbox":true}` + "\n"
	auditFirst = "run-ffffffffffffffff"
)

// growingAudit reads audit files: their last rows, which is to take no longer for a large one, and all of them.
func (b *bench) growingAudit(t *table) error {
	h, err := b.newHome("audit", "")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.state, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(h.state, "audit.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := fmt.Fprintf(f, `{"ts":"2025-01-01T00:00:00Z","event":"session_end","session_id":%q}`+"\n", auditFirst); err != nil {
		return err
	}
	kinds := []*fileReading{
		{name: "`host audit -n 10`", args: []string{"audit", "-n", "10"}, rounds: 10},
		{name: "`host audit -n 10`, of the last session", args: []string{"audit", "-n", "10", "--session", "run-0123456789abcdef"}, rounds: 10},
		{name: "`host audit`, of the first session", args: []string{"audit", "--session", auditFirst}, rounds: 1},
		{name: "`host audit --since`, none so young", args: []string{"audit", "--since", "2099-01-01"}, rounds: 1},
	}
	block := bytes.Repeat([]byte(auditRow), 1<<20/len(auditRow))
	written := 0
	for _, mib := range b.sizes() {
		for ; written < mib; written++ {
			if _, err := f.Write(block); err != nil {
				return t.orSkip("audit files", skipped{err.Error()})
			}
		}
		for _, k := range kinds {
			if err := k.measure(b, t, h, mib); err != nil {
				return err
			}
		}
	}
	for _, k := range kinds {
		k.addTo(t)
	}
	return nil
}

// fileReading is a command that reads files of several sizes.
type fileReading struct {
	name         string
	args         []string
	rounds       int
	took, memory []step
}

func (k *fileReading) measure(b *bench, t *table, h *home, mib int) error {
	one := step{size: mib}
	argv := append([]string{filepath.Join(b.bin, "host")}, k.args...)
	for range k.rounds {
		d, _, err := runProgram(spec{argv: argv, env: h.env})
		if err != nil {
			return err
		}
		one.got = append(one.got, micros(d))
	}
	k.took = append(k.took, one)
	if kib, err := peak(argv, h.env); err == nil {
		k.memory = append(k.memory, step{mib, samples{kib}})
	} else if t.orSkip("memory of "+k.name, err) != nil {
		return err
	}
	return nil
}

// peak is the memory in KiB that a program had at most. GNU time is small: the kernel counts what the process that
// forked had to its child.
func peak(argv, env []string) (kib float64, err error) {
	timer, err := program("time")
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(timer, append([]string{"-f", "%M"}, argv...)...)
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = env, &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, &said)
	}
	_, err = fmt.Sscan(said.String(), &kib)
	return kib, err
}

func (k *fileReading) addTo(t *table) {
	t.addSteps(k.name+" of %d MiB", "µs", "a MiB", k.took)
	if len(k.memory) > 1 {
		t.addSteps("its memory, of %d MiB", "KiB", "a MiB", k.memory)
	}
}

// growingOutput reads the log of sessions that wrote so much, of which the host keeps the end.
func (b *bench) growingOutput(t *table) error {
	h, err := b.startHost("output", "")
	if err != nil {
		return err
	}
	log := &fileReading{name: "`host log` of a session that wrote", rounds: 10}
	var memory []step
	for _, mib := range b.sizes() {
		id := fmt.Sprint("wrote-", mib)
		if _, _, err := h.launch(id, "claude", "/bin/sh", "-c", fmt.Sprintf("head -c %d /dev/zero; exec sleep 1000", mib<<20)); err != nil {
			return err
		}
		err := until("the output of "+id, 2*time.Minute, func() bool {
			var v view
			return h.call("GET", "/sessions/"+id, nil, &v) == nil && v.OutputBytes >= int64(mib)<<20
		})
		if err != nil {
			return err
		}
		log.args = []string{"log", id}
		if err := log.measure(b, t, h.home, mib); err != nil {
			return err
		}
		if kib, err := settledMemory(h.Process.Pid); err == nil {
			memory = append(memory, step{mib, samples{kib}})
		}
	}
	log.addTo(t)
	if len(memory) > 1 {
		t.addSteps("the host's memory after a session that wrote %d MiB", "KiB", "a MiB", memory)
	}
	return nil
}
