package shim

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// refused has a launch that must not start, for exactly this reason.
func (r *trial) refused(want, program string, argv ...string) {
	r.t.Helper()
	if len(argv) == 0 {
		argv = []string{probeName, "report"}
	}
	out, _ := r.command(program, argv...).Output()
	if text := strings.TrimSpace(string(out)); text != want {
		r.t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestStageRefuses(t *testing.T) {
	asUsers(t, func(r *trial) {
		good := r.policy
		profile := "sandbox profile " + r.at("profile.json") + ": "
		if err := os.Symlink("w", r.at("link")); err != nil {
			r.t.Fatal(err)
		}
		for want, change := range map[string]func(p *Policy){
			profile + "version 2, want 1":                                                                    func(p *Policy) { p.Version = 2 },
			profile + `path "w" is not absolute and clean`:                                                   func(p *Policy) { p.Deny = []string{"w"} },
			"sandbox: grant /nowhere: no such file or directory":                                             func(p *Policy) { p.Read = []string{"/nowhere"} },
			"sandbox: grant " + r.at("link") + ": holds a symbolic link: name " + r.at("w") + " instead":     func(p *Policy) { p.ReadWrite = []string{r.at("link")} },
			"sandbox: grant " + r.at("link/b") + ": holds a symbolic link: name " + r.at("w/b") + " instead": func(p *Policy) { p.ReadWrite = []string{r.at("link/b")} },
			"sandbox: deny " + r.at("link/b") + ": holds a symbolic link: name " + r.at("w/b") + " instead":  func(p *Policy) { p.Deny = []string{r.at("link/b")} },
			"sandbox: grant " + r.at("w") + ": not a character device":                                       func(p *Policy) { p.Devices = []string{r.at("w")} },
		} {
			r.policy = good
			change(&r.policy)
			r.refused("refused: "+want+" (sandbox true)", r.self)
		}
	})
}

// The target's own failure is not the sandbox's.
func TestStageExecFails(t *testing.T) {
	asUsers(t, func(r *trial) {
		if err := os.WriteFile(r.at("w/text"), []byte("no program\n"), 0o755); err != nil {
			r.t.Fatal(err)
		}
		os.Chmod(r.at("w/text"), 0o755) // whatever the umask
		for path, reason := range map[string]string{
			r.at("w/gone"): "no such file or directory",
			r.at("w/file"): "permission denied",
			r.at("w/text"): "exec format error",
		} {
			r.refused("refused: exec "+path+": "+reason+" (sandbox false)", path)
		}
		r.policy.Read = nil // also not granted, so not reached
		r.refused("refused: exec "+r.self+": permission denied (sandbox false)", r.self)
	})
}

// Arguments that no program can be given fail at the start of the second stage, and are not the sandbox's fault.
func TestStageArgumentsTooLong(t *testing.T) {
	profile := t.TempDir() + "/profile.json"
	if err := os.WriteFile(profile, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/true", strings.Repeat("x", 1<<20))
	report, err := sandboxed(cmd, profile, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = startCommand(cmd)
	report.closeChildEnds()
	var e *stageError
	if !errors.As(err, &e) || e.Sandbox || e.Errno != unix.E2BIG {
		t.Errorf("%+v", err)
	}
	if err := report.wait(); err == nil { // nobody wrote, and the end is seen
		t.Error("a stage that never was has started the target")
	}
}

// A denied file in a folder of many costs a rule for each of the others, and one descriptor at a time.
func TestStageManySiblings(t *testing.T) {
	asUsers(t, func(r *trial) {
		for i := range 10000 {
			if err := unix.Link(r.at("w/file"), fmt.Sprintf("%s/%d", r.at("w/b"), i)); err != nil {
				r.t.Fatal(err)
			}
		}
		r.policy.Deny = []string{r.at("w/b/77")} // and so, by inode, all of them
		got := r.probe("open", r.at("w/b/0"), r.at("w/file"), r.at("w/s/d"))
		r.want(got, r.at("w/b/0"), "EACCES EACCES ENOTDIR")
		r.want(got, r.at("w/file"), "EACCES EACCES ENOTDIR")
		r.want(got, r.at("w/s/d"), "ok EISDIR ok")
		r.policy.Deny = []string{r.at("w/b/missing")}
		got = r.probe("open", r.at("w/b/9999"))
		r.want(got, r.at("w/b/9999"), "ok ok ENOTDIR")
	})
}

func TestSandboxSupported(t *testing.T) {
	err := SandboxSupported()
	if (err == nil) != (LandlockABI() > 0) {
		t.Errorf("%v with Landlock %d", err, LandlockABI())
	}
}

// What the versions of Landlock know: nothing that is handled is ever granted by mistake, and device nodes never.
func TestLandlockRights(t *testing.T) {
	for abi, want := range map[int]uint64{1: 0x1fff, 2: 0x3fff, 3: 0x7fff, 4: 0x7fff, 5: 0xffff, 6: 0xffff, 7: 0xffff, 8: 0xffff, 9: 0x1ffff, 12: 0x1ffff} {
		if got := handledFS(abi); got != want {
			t.Errorf("version %d handles %#x, want %#x", abi, got, want)
		}
	}
	if scopes(5) != 0 || scopes(6) != 3 {
		t.Errorf("scopes %d, %d", scopes(5), scopes(6))
	}
	const sockets = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // a folder to write and a socket that is named, nothing to read
	if fsReadWrite&sockets == 0 || fsReadWrite&fsFile&sockets == 0 || (fsRead|fsDevice|fsList)&sockets != 0 {
		t.Error("sockets with a path belong to what may be written, and to nothing else")
	}
	const nodes = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	if (fsRead|fsReadWrite|fsDevice)&nodes != 0 {
		t.Error("a grant can make device nodes")
	}
}
