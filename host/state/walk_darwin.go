package state

// openFolder opens a folder to go through it, for which no right to read it is needed: O_EXEC of fcntl.h, which is
// O_SEARCH together with O_DIRECTORY.
const openFolder = 0x40000000
