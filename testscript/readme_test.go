package testscript

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestReadmeSetUp runs the README's host init, with the token on standard input, on a fresh account with umask 002: as this
// user, and where that is root as an ordinary one too. The host then has to take both files.
func TestReadmeSetUp(t *testing.T) {
	line := regexp.MustCompile(`(?m)^    (host init) +#`).FindStringSubmatch(readFile(t, "../README.md"))
	if line == nil {
		t.Fatal("README.md has no line host init")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 1234)
	}
	for _, uid := range users {
		base, err := os.MkdirTemp("", "readme")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		home := filepath.Join(base, "home")
		for _, dir := range []string{base, home, home + "/project", home + "/bin"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			os.Chown(dir, uid, uid)
		}
		cmd := exec.Command(bash, "-c", "umask 002\n"+line[1]+" --token-stdin\ncd ~/project && host status && exec host run --credential token -- sh -c 'wc -c <&5'")
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=" + binDir + ":" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader("sk-ant-oat01-readme\n")
		if uid != os.Getuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err != nil || !strings.Contains(text, "Claude token file: ") || !regexp.MustCompile(`(?m)^\s*19$`).MatchString(text) {
			t.Errorf("as user %d: %v\n%s", uid, err, text)
		}
		if strings.Contains(text, "sk-ant") {
			t.Errorf("as user %d: the token is shown:\n%s", uid, text)
		}
	}
}
