package state

import "golang.org/x/sys/unix"

// openFolder opens a folder to go through it, for which no right to read it is needed.
const openFolder = unix.O_PATH
