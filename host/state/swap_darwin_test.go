package state

import "golang.org/x/sys/unix"

// swap exchanges two names at once.
func swap(a, b string) { unix.RenamexNp(a, b, unix.RENAME_SWAP) }
