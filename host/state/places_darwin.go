package state

import "path/filepath"

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	base := filepath.Join(home, "Library", "Application Support", "relay-host")
	return filepath.Join(base, "state"), filepath.Join(base, "data")
}
