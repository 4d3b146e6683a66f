//go:build linux && !amd64

package main

import "golang.org/x/sys/unix"

// foreignI386: such a call cannot be written here.
func foreignI386() error { return unix.ENOSYS }
