// Command caller does to the shim what a shell script cannot: odd starts, and signals at odd moments.
//
//	caller storm N SIGNAL -- PROGRAM ARG…  starts the program N times, each with a signal at another moment
//	caller deaf SOCKET                     listens there, with a full queue, and never accepts
//	caller fill FD                         writes into the pipe or socket until it is full
//	caller memory PID FILE                 says whether the process holds the file's content in its memory
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	commands := map[string]func(args []string) error{"storm": storm, "deaf": deaf, "fill": fill, "memory": memory}
	if err := run(commands, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "caller: error:", err)
		os.Exit(99)
	}
}

func run(commands map[string]func([]string) error, args []string) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("wants a command")
	}
	return commands[args[0]](args[1:])
}
