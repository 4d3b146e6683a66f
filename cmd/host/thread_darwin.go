package main

import "runtime"

// On macOS a signal that a process sends to itself goes to its main thread, and any other thread runs on meanwhile: the
// main goroutine, which ends by the target's signal (S18), keeps the main thread.
func init() { runtime.LockOSThread() }
