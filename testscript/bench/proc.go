//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// proc is a process that outlives one measure.
type proc struct {
	*exec.Cmd
	name string
	done chan struct{}
}

// start starts a process that close ends at the latest; its output goes to a file of its own.
func (b *bench) start(name string, cmd *exec.Cmd) (*proc, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cmd.Stderr == nil {
		log, err := os.CreateTemp(b.dir, name+"-*.log")
		if err != nil {
			return nil, err
		}
		defer log.Close()
		cmd.Stderr = log
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &proc{cmd, name, make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	b.procs = append(b.procs, p)
	return p, nil
}

// stop ends the process, by force if TERM is not enough.
func (p *proc) stop() {
	p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		p.Process.Kill()
		<-p.done
	}
}

func (b *bench) stopAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopLocked()
}

func (b *bench) stopLocked() {
	for i := len(b.procs) - 1; i >= 0; i-- {
		b.procs[i].stop()
	}
	b.procs = nil
}

func (b *bench) open() (err error) {
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	b.built = b.bin
	if b.dir, err = os.MkdirTemp("", "hostshim-bench-"); err != nil {
		return err
	}
	// Installed, in other words copied: what the linker wrote lies in the page cache in pieces of 4 KiB, which makes
	// every start of it an eighth slower than that of a file which was written, or read from disk.
	b.bin = filepath.Join(b.dir, "bin")
	if err := os.Mkdir(b.bin, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"host", "shim"} {
		program, err := os.ReadFile(filepath.Join(b.built, name))
		if err != nil {
			return fmt.Errorf("%w: make build", err)
		}
		if err := os.WriteFile(filepath.Join(b.bin, name), program, 0o700); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(b.dir, "project"), 0o700)
}

// close ends the run. It keeps the lock, so that nothing starts any more.
func (b *bench) close() {
	b.mu.Lock()
	b.stopLocked()
	for range 100 { // after a signal, a section may be writing yet
		if os.RemoveAll(b.dir) == nil {
			return
		}
	}
}

// program finds a reference program; nginx is often not on an ordinary user's PATH.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if path := "/usr/sbin/" + name; name == "nginx" {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", missing(name)
}

// until polls, at short intervals, for at most the given time.
func until(what string, within time.Duration, done func() bool) error {
	for end := time.Now().Add(within); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v", what, within)
		}
	}
	return nil
}

// cpuTime is what a process has used so far, in user and system mode.
func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold blanks; what follows it does not.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	const perSecond = 100 // of the kernel's interface, on every architecture here
	return time.Duration(ticks) * time.Second / perSecond, nil
}

// memoryKiB is a process's proportional share of the memory it uses: a page that n processes share counts 1/n.
func memoryKiB(pid int) (float64, error) {
	return procField(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
}

func threads(pid int) (float64, error) {
	return procField(fmt.Sprintf("/proc/%d/status", pid), "Threads:")
}

func procField(path, name string) (float64, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrPermission) {
		return 0, skipped{"needs root, the shim and the host close their /proc entries to others"}
	} else if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}

// children are the processes whose parent is pid.
func children(pid int) (list []int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(data)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}
