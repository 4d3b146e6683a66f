package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// fork [setsid] [wait] COMMAND…: starts the agent once more, with one command and the descriptors as they are,
// and goes on behind the next +, or with wait first waits. A child in a session of its own outlives this group.
func fork(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{}}
	wait := false
	for len(args) > 0 && (args[0] == "setsid" || args[0] == "wait") {
		attr.Sys.Setsid = attr.Sys.Setsid || args[0] == "setsid"
		wait = wait || args[0] == "wait"
		args = args[1:]
	}
	pid, err := syscall.ForkExec(self, append([]string{"agent"}, args...), attr)
	if err != nil {
		return err
	}
	fmt.Println("child:", pid)
	if !wait {
		return nil
	}
	var ws syscall.WaitStatus
	_, err = syscall.Wait4(pid, &ws, 0, nil)
	fmt.Println("child.status:", ws.ExitStatus())
	return err
}

// trap SIGNAL[,SIGNAL] [N]: says ready, then each signal as its handler runs; goes on after N (1 by default).
func trap(args []string) error {
	if len(args) == 0 {
		return errors.New("wants signals")
	}
	list, err := signalList(args[0])
	if err != nil {
		return err
	}
	n := 1
	if len(args) > 1 {
		if n, err = strconv.Atoi(args[1]); err != nil {
			return err
		}
	}
	c := make(chan os.Signal, 1024)
	for _, sig := range list {
		signal.Notify(c, sig)
	}
	fmt.Println("ready:", os.Getpid())
	counts := map[os.Signal]int{}
	for ; n > 0; n-- {
		sig := <-c
		counts[sig]++
		fmt.Printf("got: %s %d\n", unix.SignalName(sig.(syscall.Signal)), counts[sig])
	}
	return nil
}

// hold stays until a signal ends it.
func hold([]string) error {
	fmt.Println("ready:", os.Getpid())
	for {
		unix.Select(0, nil, nil, nil, nil)
	}
}

// blind ignores what it can of signals and stays.
func blind([]string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	return hold(nil)
}

func exit(args []string) error {
	if len(args) != 1 {
		return errors.New("wants a number")
	}
	n, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(n)
	}
	return err
}

// raise SIGNAL ends the agent by that signal.
func raise(args []string) error {
	list, err := signalList(args[0])
	if err != nil {
		return err
	}
	// A core file of a deliberate end is nobody's wish; the limit is this process's own.
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -" + strconv.Itoa(int(list[0])) + " $$"}, os.Environ())
}

func say(args []string) error {
	for _, a := range args {
		fmt.Println("say:", a)
	}
	return nil
}

// big N [stderr] writes N bytes in lines of 64.
func big(args []string) error {
	if len(args) == 0 {
		return errors.New("wants a number of bytes")
	}
	n, err := strconv.Atoi(args[0])
	out := os.Stdout
	if len(args) > 1 {
		out = os.Stderr
	}
	chunk := make([]byte, 64<<10)
	for i := range chunk {
		chunk[i] = 'x'
		if i%64 == 63 {
			chunk[i] = '\n'
		}
	}
	for ; err == nil && n > 0; n -= len(chunk) {
		_, err = out.Write(chunk[:min(n, len(chunk))])
	}
	return err
}
