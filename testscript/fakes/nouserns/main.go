// Command nouserns runs a program on a system that makes no user namespaces: it becomes the program, with a filter under
// which clone and unshare fail with EPERM where they ask for one.
//
//	nouserns PROGRAM ARG…
package main

import (
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("wants a program")
	if len(os.Args) > 1 {
		err = run(os.Args[1:])
	}
	fmt.Fprintln(os.Stderr, "nouserns: error:", err)
	os.Exit(99)
}
