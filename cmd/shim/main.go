// Command shim starts a program in a sandbox and hands it a token on descriptor 5.
package main

import (
	"os"
	"runtime"

	"hostshim/shim"
)

// The main goroutine stays on the main thread, for two reasons. The target's parent-death signal belongs to the thread
// that starts the target (S19). And a signal for the whole process goes to the main thread first.
func init() { runtime.LockOSThread() }

func main() { os.Exit(shim.Main(os.Args, os.Environ())) }
