package shim

import (
	"os"
	"os/exec"
	"syscall"
)

const sandboxExec = "/usr/bin/sandbox-exec"

// sandboxed turns cmd, which would start the target, into one that starts it inside the sandbox of the profile.
// The system's own helper applies the profile and becomes the target: there is no second stage to hear from, and
// an exec that fails is the helper's exit status (S14).
func sandboxed(cmd *exec.Cmd, profile string, _, listener *os.File) (*stageReport, error) {
	if listener != nil {
		return nil, &stageError{Sandbox: true, Step: "sandbox: listener", Reason: "a network of its own is there on Linux only"}
	}
	f, err := openProfile(profile)
	if err != nil {
		return nil, err
	}
	f.Close() // the helper opens it again by its name, in a folder that only its owner can write
	cmd.Args = append([]string{"sandbox-exec", "-f", profile, "--", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sandboxExec
	return nil, nil
}

func startStage(cmd *exec.Cmd) error { return cmd.Start() }

func isStage([]string) bool { return false }

func stageMain([]string, []string) int { return ExitUsage }

// SandboxSupported says why this system cannot confine a target, nil if it can (X03).
func SandboxSupported() error {
	err := syscall.Access(sandboxExec, 1)
	if errno, ok := err.(syscall.Errno); ok {
		return &stageError{Sandbox: true, Errno: errno, Step: "sandbox: " + sandboxExec, Reason: "part of macOS; nothing else can apply a profile"}
	}
	return nil
}

// LandlockABI is 0: macOS has another sandbox.
func LandlockABI() int { return 0 }
