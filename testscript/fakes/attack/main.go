// Command attack tries, one after another, what a sandboxed program must not be able to do, and says how each
// attempt ended: `open: EACCES`, or `open: ok`. Its last line is `worked: none`, or names what did.
//
//	attack file PATH DIR       to read or replace the file at PATH; DIR is a folder that may be written
//	attack process WHO…        to read, change, trace or signal it: shim (the parent), host (its parent), or a pid
//	attack lower WHO…          to slow it down, and see what everybody may, which no sandbox here stops
//	attack system DIR          to gain privileges, or reach the kernel's own controls
//	attack terminal FD…        to type into the terminal on these descriptors
//	attack trapped             to seem ended: its parent becomes its tracer, and it stops for it
//	attack traced              to leave a child that is stopped for its tracer, and says its number
//	attack setid DIR           to make set-user-ID and set-group-ID files in the folder, by every system call
//	attack lock                to keep others from its terminal: exclusive mode, a line discipline, the console
//	attack open PATH…          to open files, and names in folders: each is a line
//	attack network DIR [away]  to leave a closed network: the listeners of `attack serve DIR`; away: other machines
//	attack serve DIR           has listeners of every kind, and says what reaches them; which ports, a file in DIR says
//
// With `wait` before the group it says `ready: PID`, and begins after a line on standard input.
//
// A script runs the same attack without a sandbox first: what fails there too proves nothing.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attempt is one way in; nil means that it worked.
type attempt struct {
	name string
	run  func() error
}

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "wait" {
		fmt.Println("ready:", os.Getpid())
		bufio.NewReader(os.Stdin).ReadString('\n')
		args = args[1:]
	}
	if len(args) == 0 || groups[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "attack: error: wants a group of attempts")
		os.Exit(99)
	}
	attempts, err := groups[args[0]](args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack: error:", err)
		os.Exit(99)
	}
	var worked, failed []string
	for _, a := range attempts {
		err := a.run()
		fmt.Printf("%s: %s\n", a.name, errName(err))
		if err == nil {
			worked = append(worked, a.name)
		} else {
			failed = append(failed, a.name)
		}
	}
	fmt.Println("failed:", list(failed))
	fmt.Println("worked:", list(worked))
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

func errName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}
