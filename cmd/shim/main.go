// Command shim starts a program in a sandbox and hands it a token on descriptor 5.
package main

import (
	"os"
	"runtime"

	"hostshim/shim"
)

// The main goroutine keeps the main thread: the target's parent-death signal belongs to the thread that
// starts it (S19), and the kernel gives a signal sent to the whole process to this thread first.
func init() { runtime.LockOSThread() }

func main() { os.Exit(shim.Main(os.Args, os.Environ())) }
