package testscript

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	update    = flag.Bool("update", false, "rewrite the expected file of a failing cmp")
	root      string // of this run's folders; short, for socket addresses, and open to every user
	binDir    string // host and shim
	fakesDir  string
	raceBuilt bool
	// buildNotes say why host or shim is missing, which fails the scripts that need it and no other.
	buildNotes = map[string]string{}
	folders    atomic.Int64
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

// calmInheritance makes every run the same whatever started it: descriptors that a terminal or an editor left
// open go no further, the file mode mask is the usual one, HUP and INT are not ignored in what we start.
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

// build makes the fakes, and puts host and shim into a folder of this run's: those of HOSTSHIM_BIN (with the
// race detector in them), else those of `make build` while no source is newer, else its own. A copy, because
// another user may not reach a clone, and because a build may go on meanwhile.
func build() error {
	if out, err := goBuild(fakesDir, "./testscript/fakes/..."); err != nil {
		return fmt.Errorf("build the fakes: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(fakesDir, "probe"), []byte(probe), 0o755); err != nil {
		return err
	}
	from := os.Getenv("HOSTSHIM_BIN")
	raceBuilt = from != ""
	if !raceBuilt {
		from = filepath.Join("..", "bin")
		if !fresh(from) {
			from = ""
		}
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"host", "shim"} {
		if from == "" {
			if out, err := goBuild(binDir, "./cmd/"+name); err != nil {
				buildNotes[name] = fmt.Sprintf(" (go build ./cmd/%s: %v: %s)", name, err, strings.TrimSpace(string(out)))
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			buildNotes[name] = fmt.Sprintf(" (%v)", err)
			continue
		}
		if err := os.WriteFile(filepath.Join(binDir, name), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// goBuild builds as the Makefile does.
func goBuild(to string, packages string) ([]byte, error) {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to+"/", packages)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.CombinedOutput()
}

// fresh says whether both programs are there and newer than all that they are built from.
func fresh(dir string) bool {
	built := time.Now()
	for _, name := range []string{"host", "shim"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return false
		}
		if info.ModTime().Before(built) {
			built = info.ModTime()
		}
	}
	newer := false
	for _, source := range []string{"../go.mod", "../cmd", "../host", "../shim"} {
		filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "_test.go") {
				info, err := d.Info()
				newer = newer || err == nil && info.ModTime().After(built)
			}
			return nil
		})
	}
	return !newer
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
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			work := newFolder(t)
			defer os.RemoveAll(work)
			check(t, path, runScript(path, path, work, *update))
		})
	}
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
