package testscript

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMacScript runs macos.sh, which is for a Mac, with stand-ins that write down their arguments. What it tries is the
// Mac's business; here it must be good shell, hand on the right words, and tell a session that holds from one that does not.
func TestMacScript(t *testing.T) {
	if out, err := exec.Command("sh", "-n", "macos.sh").CombinedOutput(); err != nil {
		t.Fatalf("sh -n: %v\n%s", err, out)
	}
	goldens, err := filepath.Glob("../host/sandbox/testdata/*.sb")
	if err != nil || len(goldens) < 12 {
		t.Fatalf("%d profiles, %v", len(goldens), err)
	}
	for _, c := range []struct {
		name, host string // host: a shell's case for what follows --template
		status     int
		held, bad  string // rows that must say so
	}{
		{"all is allowed", `shell | wide | claude-brokered) echo relay-x git version held; exit 0 ;;`, 1, "1    a session starts", "3    by its number"},
		{"nothing starts", `*) exit 78 ;;`, 1, "3    by its number", "1    a session starts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			stand := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$0 $*\" >>"+dir+"/calls\n"+text), 0o755); err != nil {
					t.Fatal(err)
				}
				return path
			}
			host := stand("host", "case $3 in\n"+c.host+"\nesac\n")
			cmd := exec.Command("sh", "macos.sh", host)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir, "CLAUDE_TOKEN_FILE=", "SANDBOX_EXEC="+stand("sandbox-exec", "exit 0\n"))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status {
				t.Fatalf("%v, want status %d\n%s", err, c.status, out)
			}
			row := func(start, end string) {
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(start) + ` +` + end).Match(out) {
					t.Errorf("no row %q %s:\n%s", start, end, out)
				}
			}
			row(c.held, "held$")
			row(c.bad, "BAD: status ")
			calls := readFile(t, filepath.Join(dir, "calls"))
			for _, golden := range goldens {
				if path, _ := filepath.Abs(golden); !strings.Contains(calls, "sandbox-exec -f "+path+" /usr/bin/true\n") {
					t.Errorf("%s was not tried:\n%s", golden, calls)
				}
			}
			for _, words := range []string{
				"run --template shell -- /usr/bin/true", "run --template wide -- /bin/cat ", "run --template claude-brokered -- /usr/bin/curl ",
			} {
				if !strings.Contains(calls, words) {
					t.Errorf("no call %q:\n%s", words, calls)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "tmp.*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
