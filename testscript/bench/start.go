//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// spec is a program to be run to its end. Descriptors 0 and 1 are /dev/null.
type spec struct {
	argv []string
	env  []string
	dir  string
}

var null, _ = os.OpenFile("/dev/null", os.O_RDWR, 0)

// runProgram runs a program and returns the time from the start of it until it was reaped. It must end well.
func runProgram(s spec) (time.Duration, error) {
	begun := time.Now()
	pid, err := syscall.ForkExec(s.argv[0], s.argv, &syscall.ProcAttr{
		Dir: s.dir, Env: s.env, Files: []uintptr{null.Fd(), null.Fd(), os.Stderr.Fd()},
	})
	if err != nil {
		return 0, err
	}
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	took := time.Since(begun)
	if err != nil || status != 0 {
		return 0, fmt.Errorf("%q ended with %v (%v)", s.argv, status, err)
	}
	return took, nil
}

// timed is a side that runs a program, in microseconds.
func timed(name string, s spec) *side {
	return &side{name: name, once: func() (float64, error) {
		took, err := runProgram(s)
		return micros(took), err
	}}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// withBwrap adds the reference for a sandboxed start to the sides, if it is there: its three mounts are about the
// least that runs a program.
func withBwrap(t *table, sides ...*side) (all []*side, ref *side, err error) {
	path, err := program("bwrap")
	ref = timed("bwrap", spec{argv: []string{path, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "/bin/true"}})
	if err != nil {
		return sides, ref, t.orSkip("what bwrap takes", err)
	}
	return append(sides, ref), ref, nil
}

func startSection(b *bench, t *table) error {
	if err := b.shimStart(t); err != nil {
		return err
	}
	return b.hostStart(t)
}

func (b *bench) shimStart(t *table) error {
	shim := timed("shim", spec{argv: []string{filepath.Join(b.bin, "shim"), "--", "/bin/true"}})
	bare := timed("/bin/true", spec{argv: []string{"/bin/true"}})
	sides := []*side{shim, bare}
	for _, ref := range [][]string{{"tini", "-s"}, {"dumb-init"}} {
		path, err := program(ref[0])
		if err == nil {
			argv := append(append([]string{path}, ref[1:]...), "--", "/bin/true")
			sides = append(sides, timed(ref[0], spec{argv: argv}))
		} else if err := t.orSkip("shim beside "+ref[0], err); err != nil {
			return err
		}
	}
	if err := interleave(b.count(600), sides...); err != nil {
		return err
	}
	for _, s := range sides[1:] {
		g := noGoal
		if s.name == "tini" {
			g = ratioAtMost(1.45)
		}
		t.add("`shim -- /bin/true`", "µs", shim.got, reference{s.name, s.got}, g)
	}
	return nil
}

func (b *bench) hostStart(t *table) error {
	h, err := b.newHome("run", "")
	if err != nil {
		return err
	}
	run := func(more ...string) spec {
		argv := append([]string{filepath.Join(b.bin, "host"), "run", "--template", "bench", "--dir", b.project()}, more...)
		return spec{argv: append(argv, "--", "/bin/true"), env: h.env}
	}
	ours := timed("host run", run())
	bare := timed("host run --no-sandbox", run("--no-sandbox"))
	sides, ref, err := withBwrap(t, ours, bare)
	if err != nil {
		return err
	}
	if err := interleave(b.count(250), sides...); err != nil {
		return err
	}
	t.add("`host run -- /bin/true`, sandboxed, with a token", "µs", ours.got, reference{ref.name, ref.got}, ratioAtMost(1.6))
	t.add("the same with `--no-sandbox`, no token", "µs", bare.got, reference{ref.name, ref.got}, noGoal)
	return nil
}
