//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// settleWithin is how long what was killed has to be gone (X13).
const settleWithin = 10 * time.Second

// A world is a user's home folder with a token, in which one load takes place.
type world struct {
	bin, dir, state, tmp, project string
	env                           []string
	over                          context.Context // done when the load has taken too long
	stop                          context.CancelFunc
	mu                            sync.Mutex
	random                        *rand.Rand
}

func newWorld(bin string, random *rand.Rand, within time.Duration) (*world, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		return nil, err
	}
	w := &world{bin: bin, dir: dir, state: dir + "/.local/state/relay-host", tmp: dir + "/tmp", project: dir + "/project", random: random}
	w.over, w.stop = context.WithTimeoutCause(context.Background(), within, fmt.Errorf("it took longer than %v", within))
	for _, d := range []string{w.tmp, w.project, dir + "/.config/relay"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	w.env = []string{"HOME=" + dir, "TMPDIR=" + w.tmp, "PATH=" + bin + ":" + os.Getenv("PATH"), w.mark()}
	if err := os.WriteFile(dir+"/token", []byte("sk-ant-oat01-campaign"), 0o600); err != nil {
		return nil, err
	}
	return w, os.WriteFile(dir+"/.config/relay/settings.json", []byte(`{"claude_token_file": "~/token"}`), 0o600)
}

// mark is in the environment of everything that the load starts, and of nothing else.
func (w *world) mark() string { return "CAMPAIGN=" + w.dir }

func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.over, filepath.Join(w.bin, name), args...)
	cmd.Env, cmd.Dir = w.env, w.project
	return cmd
}

// within is a random time of at most d.
func (w *world) within(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int63n(int64(d)))
}

func pick[T any](w *world, of []T) T { return of[w.within(time.Duration(len(of)))] }

// processes are those that carry the mark, dead ones that nobody has reaped left out: they have no environment.
func (w *world) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(env, []byte(w.mark())) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// children are a process's, as its threads have started them.
func children(of int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(word)
			pids = append(pids, pid)
		}
	}
	return pids
}

// arguments are a process's; none once it has ended.
func arguments(pid int) string {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))
}

// tree is what runs below a process, itself included, a line each.
func tree(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	said := fmt.Sprintf("\n  %d %s", pid, arguments(pid))
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "State:") || strings.HasPrefix(line, "Sig") || strings.HasPrefix(line, "Shd") {
			said += " " + strings.Join(strings.Fields(line), "")
		}
	}
	for _, child := range children(pid) {
		said += tree(child)
	}
	return said
}

// median is how long something takes here and now, so that random moments fall into it on every machine.
func median(do func() error) (time.Duration, error) {
	var took []time.Duration
	for range 7 {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// left waits until a count is zero, or for as long as it may take, and gives the last count.
func left(count func() int) int {
	deadline := time.Now().Add(settleWithin)
	for {
		n := count()
		if n == 0 || time.Now().After(deadline) {
			return n
		}
		<-time.After(50 * time.Millisecond)
	}
}

// files are what a session has on disk, and should not have after its end.
func (w *world) files() int {
	n := 0
	for _, pattern := range []string{w.state + "/profiles/*", w.state + "/sessions/*", w.tmp + "/relay-*"} {
		found, _ := filepath.Glob(pattern)
		n += len(found)
	}
	return n
}

// rows counts what the audit log lacks: of each launch that somebody saw a launch row, and of each launch row exactly one end.
// A target runs a moment before its shim can say so, and its host can know. Where one of the two was killed in that moment,
// the launch row is an error that says just this, and there is no end.
func (w *world) rows(r *result, seen []string) (lost int, err error) {
	data, err := os.ReadFile(w.state + "/audit.jsonl")
	if err != nil {
		return 0, err
	}
	unknown := 0
	launches, ends, lines := map[string]int{}, map[string]int{}, map[string]string{}
	for _, id := range seen {
		launches[id] = 0
	}
	for line := range strings.Lines(string(data)) {
		var row struct {
			Event, Outcome, Error string
			ID                    string `json:"session_id"`
		}
		if json.Unmarshal([]byte(line), &row) != nil {
			lost++
		}
		lines[row.ID] += "\n" + line
		if row.Event == "session_end" {
			ends[row.ID]++
			launches[row.ID] += 0
		} else if row.Event == "session_launch" && row.Outcome == "ok" {
			launches[row.ID]++
		} else if _, saw := launches[row.ID]; saw && strings.Contains(row.Error, " had started") {
			launches[row.ID]++
			ends[row.ID]++
			unknown++
		}
	}
	if unknown > 0 {
		r.note("%d targets ran of which neither host nor shim could know", unknown)
	}
	for id, n := range launches {
		missing := max(1-n, n-1) + max(n-ends[id], ends[id]-n)
		if lost += missing; missing > 0 && len(r.notes) < 5 {
			r.note("%s has these rows:%s", id, lines[id])
		}
	}
	return lost, nil
}

// end fills in what every load is asked for, and ends what is still there.
func (w *world) end(r *result, seen []string) error {
	r.processes = left(func() int { return len(w.processes()) })
	for _, pid := range w.processes() {
		if len(r.notes) < 5 {
			r.note("left running: %s", arguments(pid))
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}
	// Whoever comes next cleans up after the hosts that were killed.
	if out, err := w.command("host", "run", "--", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("host run afterwards: %w: %s", err, out)
	}
	r.files = left(w.files)
	var err error
	r.rows, err = w.rows(r, seen)
	return err
}

func (w *world) close() {
	w.stop()
	for _, pid := range w.processes() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	os.RemoveAll(w.dir)
}

// each does something n times, so many at once, and gives the first error: also that the load took too long.
func (w *world) each(n, atOnce int, do func(i int) error) error {
	var failed error
	var once sync.Once
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		if slots <- struct{}{}; w.over.Err() != nil {
			return context.Cause(w.over) // what hangs is ended with the world
		}
		running.Go(func() {
			if err := do(i); err != nil {
				once.Do(func() { failed = err })
			}
			<-slots
		})
	}
	running.Wait()
	if w.over.Err() != nil {
		return context.Cause(w.over)
	}
	return failed
}
