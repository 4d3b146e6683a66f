//go:build !linux

// Command campaign kills the pair at random moments; it knows Linux only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "campaign: error: it finds what was left in /proc, which only Linux has")
	os.Exit(1)
}
