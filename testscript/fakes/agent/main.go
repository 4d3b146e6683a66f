// Command agent is the program that scripts run as a target: it says what it was given and what it can reach,
// one `key: value` a line. Several commands stand in one call, a + between them:
//
//	agent fds + token dev + env + trap TERM
//
// It reports only descriptors without the close-on-exec flag: Go's runtime opens some of its own (the cgroup's
// cpu.max, an epoll), always close-on-exec, and what came through exec never is. What the runtime hides before
// main (a closed 0–2, the signal mask, ignored signals, the soft limit of open files) the shell script `probe`
// says instead.
//
// What it reads from the token's descriptor is printed as length and SHA-256 only. Arguments and environment
// are printed as they are: a token in them is what the engine's token check is there to find.
package main

import (
	"errors"
	"fmt"
	"os"
)

// A command of the agent; what follows its name up to the next + are its arguments.
var commands map[string]func(args []string) error

func main() {
	commands = map[string]func([]string) error{
		"fds": fds, "args": printArgs, "env": printEnv, "token": readToken, "stdin": readStdin, // given.go
		"status": printStatus, "limits": printLimits, "ids": printIDs, "tty": printTTY,
		"trap": trap, "fork": fork, "hold": hold, "exit": exit, "raise": raise, "say": say, "big": big, "blind": blind, // act.go
		"try": try, // try.go
	}
	addSystemCommands()
	if err := runAll(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent: error:", err)
		os.Exit(99)
	}
}

func runAll(words []string) error {
	if len(words) == 0 {
		words = []string{"fds", "+", "args", "+", "env"}
	}
	for len(words) > 0 {
		n := 0
		for n < len(words) && (words[n] != "+" || words[0] == "with") { // with becomes another program: all is its
			n++
		}
		if n == 0 {
			return errors.New("no command before +")
		}
		run := commands[words[0]]
		if run == nil {
			return fmt.Errorf("unknown command %q", words[0])
		}
		if err := run(words[1:n]); err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
		if n < len(words) {
			n++
		}
		words = words[n:]
	}
	return nil
}
