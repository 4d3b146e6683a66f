//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// answering is a program under an init that writes a line whenever a TERM reaches it.
type answering struct {
	init    *proc
	answers *os.File
}

// onTerm waits for input that never comes: the trap runs between two looks at it.
const onTerm = `trap 'echo t' TERM; echo ready; while :; do read -r line; done`

func (b *bench) startAnswering(name string, init []string) (*answering, error) {
	in, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out.Fd() // blocking: the reads below must not go through this program's own poller
	cmd := exec.Command(init[0], append(init[1:], "/bin/sh", "-c", onTerm)...)
	cmd.Stdin, cmd.Stdout = in, w
	p, err := b.start(name, cmd)
	if err != nil {
		return nil, err
	}
	// The input stays open until the process is gone, or the shell would not wait in read.
	go func() {
		<-p.done
		hold.Close()
	}()
	a := &answering{p, out}
	return a, a.read()
}

func (a *answering) read() error {
	buf := make([]byte, 16)
	for {
		n, err := syscall.Read(int(a.answers.Fd()), buf)
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			return fmt.Errorf("%s ended (%v)", a.init.name, err)
		default:
			return nil
		}
	}
}

// signal sends TERM to the init and waits for the target's answer.
func (a *answering) signal() (float64, error) {
	time.Sleep(2 * time.Millisecond) // both sleep by now, as they do in real life
	begun := time.Now()
	if err := syscall.Kill(a.init.Process.Pid, syscall.SIGTERM); err != nil {
		return 0, err
	}
	err := a.read()
	return micros(time.Since(begun)), err
}

// end kills the init; the target's standard input ends with it, and so, in a moment, does the target.
func (a *answering) end() {
	for _, pid := range children(a.init.Process.Pid) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	a.init.Process.Kill()
	<-a.init.done
	a.answers.Close()
}

func signalSection(b *bench, t *table) error {
	shim, err := b.startAnswering("shim", []string{filepath.Join(b.bin, "shim"), "--"})
	if err != nil {
		return err
	}
	defer shim.end()
	bare, err := b.startAnswering("bare", []string{"/usr/bin/env"})
	if err != nil {
		return err
	}
	defer bare.end()
	ours, ref, none := &side{name: "shim", once: shim.signal}, &side{name: "tini"}, &side{name: "none", once: bare.signal}
	sides := []*side{ours, none}
	if path, err := program("tini"); err == nil {
		tini, err := b.startAnswering("tini", []string{path, "-s", "--"})
		if err != nil {
			return err
		}
		defer tini.end()
		ref.once = tini.signal
		sides = append(sides, ref)
	} else if err := t.orSkip("TERM beside tini", err); err != nil {
		return err
	}
	if err := interleave(b.count(600), sides...); err != nil {
		return err
	}
	t.add("TERM to the shim until the target's handler runs", "µs", ours.got, reference{"tini", ref.got}, ratioAtMost(1.7))
	t.add("the same, nothing between", "µs", none.got, reference{}, noGoal)
	return nil
}
