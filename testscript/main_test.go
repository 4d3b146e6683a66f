package testscript

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

var (
	update        = flag.Bool("update", false, "rewrite the expected file of a failing cmp")
	root          string // of this run's folders; short, for socket addresses, and open to every user
	binDir        string // host and shim
	repository, _ = filepath.Abs("..")
	fakesDir      string
	raceBuilt     bool
	slow          = os.Getenv("HOSTSHIM_SLOW") // 1: what takes long too, only: the scripts that say [slow] alone
	folders       atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		parallel.Value.Set("8") // scripts mostly wait
	}
	calmInheritance()
	var err error
	if root, err = makeRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// calmInheritance makes each run the same, whatever started it. Programs do not inherit the descriptors that a terminal or
// an editor left open, the file mode mask is the usual one, and HUP and INT are not ignored.
func calmInheritance() {
	entries, _ := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
	syscall.Umask(0o022)
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // a handled signal is the default again after exec
		}
	}
}

func makeRoot() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "ts")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	binDir, fakesDir = filepath.Join(dir, "bin"), filepath.Join(dir, "fakes")
	return dir, err
}

// build makes the fakes, and host and shim as `make build` makes them. HOSTSHIM_BIN names a folder with others, which have
// the race detector in them. Either way they are copies: another user may not reach a clone, and a build may go on meanwhile.
// HOSTSHIM_BUILT names a folder with bin and fakes, for a machine without a compiler.
func build() error {
	if from := os.Getenv("HOSTSHIM_BUILT"); from != "" {
		return os.CopyFS(filepath.Dir(binDir), os.DirFS(from))
	}
	if err := goBuild(fakesDir, "./testscript/fakes/..."); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(fakesDir, "probe"), []byte(probe), 0o755); err != nil {
		return err
	}
	if from := os.Getenv("HOSTSHIM_BIN"); from != "" {
		raceBuilt = true
		return os.CopyFS(binDir, os.DirFS(from))
	}
	return goBuild(binDir, "./cmd/host", "./cmd/shim")
}

// goBuild makes programs and copies them to a folder. They are kept below bin/ too: the linker is then left out for
// those that are up to date.
func goBuild(to string, packages ...string) error {
	kept := filepath.Join("..", "bin", "test", filepath.Base(to))
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", "bin/test/" + filepath.Base(to) + "/"}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %v\n%s", packages, err, out)
	}
	return os.CopyFS(to, os.DirFS(kept))
}

// probe says of itself what a Go program cannot, because its runtime changes it before main: descriptors as
// they came (0–2 closed included), signal mask, ignored signals, limits.
const probe = `#!/bin/sh
n=0
while [ $n -lt 20 ]; do
	[ -e /proc/$$/fd/$n ] || [ -L /proc/$$/fd/$n ] && [ $n -ne 10 ] && echo "open: $n" || :
	n=$((n+1))
done
while read -r key value; do
	case $key in SigBlk:|SigIgn:|NoNewPrivs:) echo "$key $value" ;; esac
done </proc/$$/status
echo "nofile: $(ulimit -n) core: $(ulimit -c)"
`

func newFolder(t *testing.T) string {
	dir := filepath.Join(root, strconv.FormatInt(folders.Add(1), 10))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eachScript runs a folder's scripts in parallel, each as a subtest named as its file.
func eachScript(t *testing.T, dir string, check func(t *testing.T, path string, v verdict)) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %s", dir)
	}
	for _, path := range paths {
		if slow == "only" && !saysSlow(t, path) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			work := newFolder(t)
			defer os.RemoveAll(work)
			check(t, path, runScript(path, path, work, *update))
		})
	}
}

// saysSlow says whether a script has something that `make test` leaves out.
func saysSlow(t *testing.T, path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^(\[\S+ )*\[!?slow\] `).Match(text)
}

// TestRules runs the scripts of the rules.
func TestRules(t *testing.T) {
	eachScript(t, "rules", func(t *testing.T, path string, v verdict) { report(t, v) })
}

func report(t *testing.T, v verdict) {
	if v.skip != "" {
		t.Skip(v.skip)
	}
	if v.failure != "" {
		t.Error("\n" + v.failure)
	}
}

// TestEngine runs the engine's own scripts. One with a file want-failure must fail, with just that text.
func TestEngine(t *testing.T) {
	eachScript(t, "engine", func(t *testing.T, path string, v verdict) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := parseArchive(data).find("want-failure")
		if want == nil || v.skip != "" {
			report(t, v)
			return
		}
		if got := strings.TrimSpace(v.failure); got != strings.TrimSpace(string(want.data)) {
			t.Errorf("failure is\n%s\nwant\n%s", got, want.data)
		}
	})
}
