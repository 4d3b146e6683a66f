package shim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// trial is one sandboxed launch of this test program by a small shim, as some user, in a folder of its own.
type trial struct {
	t      *testing.T
	uid    int
	dir    string
	self   string // this program, where that user may execute it
	policy Policy
	token  *os.File
	listen *os.File
}

const nobody = 65534

// asUsers runs a test as the user who runs it and, if that is root, as an ordinary user too.
func asUsers(t *testing.T, test func(*trial)) {
	if LandlockABI() == 0 {
		t.Skip("no Landlock here")
	}
	for _, uid := range []int{os.Getuid(), nobody} {
		if uid != os.Getuid() && os.Getuid() != 0 {
			continue
		}
		t.Run(fmt.Sprintf("uid=%d", uid), func(t *testing.T) { test(newTrial(t, uid)) })
	}
}

func newTrial(t *testing.T, uid int) *trial {
	dir, err := os.MkdirTemp("", "stage") // not t.TempDir, whose folder other users cannot search
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	r := &trial{t: t, uid: uid, dir: dir, self: filepath.Join(dir, "self")}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.self, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w/s/d", "w/b"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"w/s/token", "w/s/other", "w/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	filepath.Walk(dir, func(name string, _ os.FileInfo, _ error) error { return os.Lchown(name, uid, uid) })
	os.Chmod(dir, 0o755)
	r.policy = Policy{Version: PolicyVersion, Network: NetworkOpen, Read: []string{r.self, "/proc"}, ReadWrite: []string{r.at("w")}}
	for _, name := range []string{"/usr", "/etc", "/lib", "/lib64"} {
		if st, err := os.Lstat(name); err == nil && st.IsDir() {
			r.policy.Read = append(r.policy.Read, name)
		}
	}
	return r
}

func (r *trial) at(name string) string { return filepath.Join(r.dir, name) }

// command makes the launch of a program with arguments; the probe with its part comes by probeArgs.
func (r *trial) command(program string, argv ...string) *exec.Cmd {
	text, err := json.Marshal(r.policy)
	if err != nil {
		r.t.Fatal(err)
	}
	profile := r.at("profile.json")
	if err := os.WriteFile(profile, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	os.Chown(profile, r.uid, r.uid)
	words := "-"
	cmd := exec.Command(r.self)
	cmd.ExtraFiles = []*os.File{nil, nil, r.token, r.listen}
	if r.token != nil {
		words += wordToken
	}
	if r.listen != nil {
		words += wordListener
	}
	cmd.Args = append([]string{probeName, "launch", profile, words, program}, argv...)
	// The race detector would have every process wait a second at its end.
	cmd.Env = append(os.Environ(), "PROBE=kept exactly ", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	if r.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.uid)}}
	}
	return cmd
}

// probe runs a part of this program in the sandbox and returns its lines, the first word of each as the key.
func (r *trial) probe(argv ...string) map[string]string {
	r.t.Helper()
	out, err := r.command(r.self, append([]string{probeName}, argv...)...).Output()
	lines := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if old, twice := lines[key]; twice {
			value = old + " " + value
		}
		lines[key] = value
	}
	if lines["started"] == "" {
		r.t.Fatalf("not started: %v\n%s", err, out)
	}
	if !strings.HasSuffix(lines["started"], "dumpable 0") {
		r.t.Errorf("the shim is left dumpable: %s", lines["started"])
	}
	return lines
}

func (r *trial) want(got map[string]string, key, want string) {
	r.t.Helper()
	if got[key] != want {
		r.t.Errorf("%s: got %q, want %q", key, got[key], want)
	}
}

func TestStageGivesTheTargetNothingMore(t *testing.T) {
	asUsers(t, func(r *trial) {
		read, write, err := os.Pipe()
		if err != nil {
			r.t.Fatal(err)
		}
		defer read.Close()
		write.Close()
		for _, token := range []*os.File{nil, read} {
			r.token = token
			got := r.probe("report", "a b", "")
			r.want(got, "status", "ok")
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				r.want(got, set, ".")
			}
			if r.uid == 0 {
				r.want(got, "CapBnd", ".")
			}
			r.want(got, "NoNewPrivs", "1.")
			r.want(got, "Seccomp", "2.")
			r.want(got, "dumpable", `1 args ["a b" ""] env "kept exactly "`)
			if token == nil {
				r.want(got, "descriptor", "0 1 2")
			} else {
				r.want(got, "descriptor", "0 1 2 5")
			}
		}
	})
}

func TestStageFiles(t *testing.T) {
	asUsers(t, func(r *trial) {
		if err := os.Link(r.at("w/s/token"), r.at("w/s/hard")); err != nil {
			r.t.Fatal(err)
		}
		r.policy.Deny = []string{r.at("w/s/token"), r.at("w/b/missing")}
		r.policy.Devices = []string{"/dev/null"}
		token := r.at("w/s/token")
		got := r.probe("open", token, r.at("w/s/hard"), "/proc/self/root"+token, r.at("w/s/other"), r.at("w/file"),
			r.at("w"), r.at("w/s"), r.at("w/s/d"), r.at("w/b"), r.dir, r.self, "/dev/null", "/dev/zero", "/etc/passwd")
		for name, want := range map[string]string{ // to read, to write, to make a file in
			token:                     "EACCES EACCES ENOTDIR",
			r.at("w/s/hard"):          "EACCES EACCES ENOTDIR",
			"/proc/self/root" + token: "EACCES EACCES ENOTDIR",
			r.at("w/s/other"):         "ok ok ENOTDIR",
			r.at("w/file"):            "ok ok ENOTDIR",
			r.at("w"):                 "ok EISDIR EACCES",
			r.at("w/s"):               "ok EISDIR EACCES",
			r.at("w/s/d"):             "ok EISDIR ok",
			r.at("w/b"):               "ok EISDIR EACCES",
			r.dir:                     "EACCES EISDIR EACCES",
			"/dev/null":               "ok ok ENOTDIR",
			"/dev/zero":               "EACCES EACCES ENOTDIR",
		} {
			r.want(got, name, want)
		}
		if !strings.HasPrefix(got["/etc/passwd"], "ok EACCES") || !strings.HasPrefix(got[r.self], "ok E") {
			r.t.Errorf("a file granted to read: %q, %q", got["/etc/passwd"], got[r.self])
		}
	})
}

func TestStageKeepsTheTargetToItself(t *testing.T) {
	asUsers(t, func(r *trial) {
		other := exec.Command(r.self, "stay")
		other.Args[0] = probeName
		other.SysProcAttr = r.command("").SysProcAttr
		if err := other.Start(); err != nil {
			r.t.Fatal(err)
		}
		defer other.Wait()
		defer other.Process.Kill()
		got := r.probe("attack", fmt.Sprint(other.Process.Pid))
		for _, call := range []string{"ptrace", "prlimit", "tiocsti", "unshare", "clone", "io_uring", "x32"} {
			r.want(got, call, "EPERM")
		}
		if LandlockABI() >= 6 {
			r.want(got, "kill", "EPERM")
		}
		for _, name := range []string{"environ", "maps", "mem", "root/etc", "fd/0"} {
			r.want(got, name, "EACCES")
		}
		r.want(got, "clone3", "ENOSYS")
		r.want(got, "prlimit-self", "ok")
		r.want(got, "inet", "ok")
		r.want(got, "unix", "ok")
	})
}

func TestStageDiesWithTheShim(t *testing.T) {
	asUsers(t, func(r *trial) {
		shim := r.command(r.self, probeName, "stay")
		out, err := shim.StdoutPipe()
		if err != nil {
			r.t.Fatal(err)
		}
		if err := shim.Start(); err != nil {
			r.t.Fatal(err)
		}
		defer shim.Wait()
		defer shim.Process.Kill()
		var pid int
		for lines, seen := bufio.NewScanner(out), 0; seen < 2 && lines.Scan(); seen++ {
			fmt.Sscanf(lines.Text(), "started %d", &pid)
		}
		target, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			r.t.Fatalf("target %d: %v", pid, err)
		}
		defer unix.Close(target)
		defer unix.PidfdSendSignal(target, unix.SIGKILL, nil, 0)
		poll := []unix.PollFd{{Fd: int32(target), Events: unix.POLLIN}}
		if n, _ := unix.Poll(poll, 0); n != 0 {
			r.t.Fatal("the target ended before the shim")
		}
		shim.Process.Kill()
		start := time.Now()
		for n := 0; n == 0; {
			if n, err = unix.Poll(poll, 1000); err != unix.EINTR && n == 0 {
				r.t.Fatalf("the target still lives after %v", time.Since(start))
			}
		}
		io.Copy(io.Discard, out)
	})
}
