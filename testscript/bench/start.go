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

// run runs a program to its end, with out as its standard output. It must end well. Used is what it and its children used.
func (s spec) run(out uintptr, begun func(pid int) error) (used syscall.Rusage, err error) {
	pid, err := syscall.ForkExec(s.argv[0], s.argv, &syscall.ProcAttr{
		Dir: s.dir, Env: s.env, Files: []uintptr{null.Fd(), out, os.Stderr.Fd()},
	})
	if err != nil {
		return used, err
	}
	early := begun(pid)
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, &used)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil || status != 0 {
		return used, fmt.Errorf("%q ended with %v (%v)", s.argv, status, err)
	}
	return used, early
}

// runProgram returns the time from the start of a program until it was reaped.
func runProgram(s spec) (took time.Duration, used syscall.Rusage, err error) {
	begun := time.Now()
	used, err = s.run(null.Fd(), func(int) error { return nil })
	return time.Since(begun), used, err
}

// firstByte returns the time from the start of a program until the first byte that its target wrote.
func firstByte(s spec) (took time.Duration, used syscall.Rusage, err error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return 0, used, err
	}
	defer syscall.Close(pipe[0])
	begun := time.Now()
	used, err = s.run(uintptr(pipe[1]), func(int) error {
		syscall.Close(pipe[1])
		var one [1]byte
		n, err := retry(func() (int, error) { return syscall.Read(pipe[0], one[:]) })
		took = time.Since(begun)
		if n != 1 {
			return fmt.Errorf("%q wrote nothing (%v)", s.argv, err)
		}
		return nil
	})
	return took, used, err
}

func retry(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}

// timed is a side that runs a program to its end, in microseconds; spoken one that runs it until its target speaks.
func timed(name string, s spec) *side  { return measured(name, s, runProgram) }
func spoken(name string, s spec) *side { return measured(name, s, firstByte) }

func measured(name string, s spec, run func(spec) (time.Duration, syscall.Rusage, error)) *side {
	one := &side{name: name}
	one.once = func() (float64, error) {
		took, used, err := run(s)
		one.used.cpu = append(one.used.cpu, float64(used.Utime.Nano()+used.Stime.Nano())/1e3)
		one.used.faults = append(one.used.faults, float64(used.Minflt+used.Majflt))
		one.used.switches = append(one.used.switches, float64(used.Nvcsw+used.Nivcsw))
		return micros(took), err
	}
	return one
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func startSection(b *bench, t *table) error {
	if err := b.shimStart(t); err != nil {
		return err
	}
	t.notes = append(t.notes, "What bwrap's processes in a namespace of their own use is not in its columns: nobody outside reaps them.")
	if err := b.hostStart(t); err != nil {
		return err
	}
	return b.wholeSandbox(t)
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
	if err := interleave(b.count(500), sides...); err != nil {
		return err
	}
	t.noteBusy(bare.got)
	for _, s := range sides[1:] {
		g := noGoal
		if s.name == "tini" {
			g = ratioAtMost(1.75)
		}
		t.compare("`shim -- /bin/true`", shim, s, g)
	}
	return nil
}

// withToken asks for the token by name: the target is not the template's own command.
var withToken = []string{"--credential", "token"}

// hostRun is `host run` of a program in the bench's project, with its template.
func (b *bench) hostRun(h *home, more []string, target ...string) spec {
	argv := append([]string{filepath.Join(b.bin, "host"), "run", "--template", benchTemplate, "--dir", b.project()}, more...)
	return spec{argv: append(append(argv, "--"), target...), env: h.env}
}

func (b *bench) hostStart(t *table) error {
	h, err := b.newHome("run", "")
	if err != nil {
		return err
	}
	sides := []*side{spoken("host run", b.hostRun(h, withToken, speak...)), timed("host run --no-sandbox", b.hostRun(h, []string{"--no-sandbox"}, "/bin/true"))}
	refs, err := b.references(t, h)
	if err != nil {
		return err
	}
	for _, r := range refs {
		sides = append(sides, spoken(r.name, r.of(speak...)))
	}
	if err := interleave(b.count(150), sides...); err != nil {
		return err
	}
	for i, r := range refs {
		t.compare("`host run`, sandboxed, token, to the first byte", sides[0], sides[2+i], r.goal)
	}
	if len(refs) > 0 {
		t.compare("`host run --no-sandbox -- /bin/true`, no token, to its end", sides[1], sides[2], noGoal)
	}
	return nil
}

// wholeSandbox compares with the best-known sandbox as its users start it. It takes a second, so that few rounds do.
func (b *bench) wholeSandbox(t *table) error {
	h, err := b.newHome("whole", "")
	if err != nil {
		return err
	}
	argv, err := b.sandboxRuntime(h)
	if err != nil {
		return t.orSkip("beside the whole sandbox-runtime", err)
	}
	ours := spoken("host run", b.hostRun(h, withToken, speak...))
	whole := spoken("sandbox-runtime", spec{argv: append(argv, speak...), env: os.Environ(), dir: b.project()})
	if err := interleave(b.count(6), ours, whole); err != nil {
		return t.orSkip("beside the whole sandbox-runtime", skipped{err.Error()})
	}
	t.compare("`host run`, sandboxed, token, to the first byte", ours, whole, noGoal)
	return nil
}
