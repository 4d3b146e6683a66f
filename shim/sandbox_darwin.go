package shim

import (
	"os"
	"os/exec"
	"syscall"
)

const sandboxExec = "/usr/bin/sandbox-exec"

// sandboxed rewrites cmd, so that it starts the target inside the profile's sandbox. The system's own helper applies the
// profile and becomes the target. It sends no report: if its exec fails, its exit status says so (S14).
func sandboxed(cmd *exec.Cmd, profile string, _, listener *os.File) (*stageReport, error) {
	if listener != nil {
		return nil, &stageError{Sandbox: true, Step: "sandbox: listener", Reason: "a network of its own is there on Linux only"}
	}
	f, err := openProfile(profile)
	if err != nil {
		return nil, err
	}
	f.Close() // the helper opens it by its name, in a folder that only its owner can write
	cmd.Args = append([]string{"sandbox-exec", "-f", profile, "--", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sandboxExec
	return nil, nil
}

func startCommand(cmd *exec.Cmd) error { return cmd.Start() }

func isStage([]string) bool { return false }

func stageMain([]string, []string) int { return ExitUsage }

// SandboxSupported returns nil if this system can confine a target, else the reason (X03).
func SandboxSupported() error {
	err := syscall.Access(sandboxExec, 1)
	if errno, ok := err.(syscall.Errno); ok {
		return &stageError{Sandbox: true, Errno: errno, Step: "sandbox: " + sandboxExec, Reason: "part of macOS; nothing else can apply a profile"}
	}
	return nil
}

// LandlockABI is 0: macOS has no Landlock.
func LandlockABI() int { return 0 }
