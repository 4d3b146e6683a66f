package main

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// storm starts a program N times and sends each a signal at a random moment of its start, from before its first
// instruction to after its target's. The program must be a shim whose target writes a file named by the launch's
// number ($LAUNCH) when it runs, prints its end when the signal comes, and stays otherwise. One line a launch:
// `stopped`, the target never ran; `reached`, it ran and got the signal.
func storm(args []string) error {
	if len(args) < 4 || args[2] != "--" {
		return errors.New("usage: storm N SIGNAL -- PROGRAM ARG…")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	sig := unix.SignalNum("SIG" + args[1])
	for i := range n {
		if err := one(i, sig, args[3:]); err != nil {
			return fmt.Errorf("launch %d: %w", i, err)
		}
	}
	return nil
}

func one(i int, sig syscall.Signal, argv []string) error {
	name := strconv.Itoa(i)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LAUNCH="+name)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	<-time.After(time.Duration(rand.Int63n(int64(12 * time.Millisecond))))
	if err := cmd.Process.Signal(sig); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		cmd.Process.Kill()
		return errors.New("the signal was lost")
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	_, err := os.Stat("ran." + name)
	ran := err == nil
	caught := strings.Contains(out.String(), "caught")
	if ran && strings.Contains(out.String(), "ready") && !caught {
		return fmt.Errorf("the target ran and did not hear of it: %q", out.String())
	}
	switch {
	case caught && ws.ExitStatus() == 7:
		fmt.Println("reached")
	case ws.Signaled() && ws.Signal() == sig || ws.ExitStatus() == 128+int(sig):
		fmt.Println("stopped, ran", ran)
	default:
		return fmt.Errorf("status %v, ran %v, said %q", cmd.ProcessState, ran, out.String())
	}
	return nil
}
