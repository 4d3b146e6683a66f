//go:build !linux

// Command bench measures the pair beside the best programs of their kind; it knows Linux only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: error: the references (tini, bwrap) and the measures (/proc) are Linux's own")
	os.Exit(1)
}
