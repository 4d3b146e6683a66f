// Command nolandlock runs a program on a kernel that has no Landlock, has it switched off, or has an older one.
//
//	nolandlock ENOSYS|EOPNOTSUPP|VERSION|KILL PROGRAM ARG…
//
// KILL: a second stage of the shim that asks for the version is killed, as the kernel's memory killer would.
// An error is what landlock_create_ruleset then fails with. A version is what it says when it is asked for one;
// what that version lacks, the real one beneath may still have, and whoever trusts the answer does not use it.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "nolandlock: error: wants an error or a version, and a program")
		os.Exit(99)
	}
	status, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "nolandlock: error:", err)
		status = 99
	}
	os.Exit(status)
}
