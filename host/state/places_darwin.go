package state

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	base := filepath.Join(home, "Library", "Application Support", "relay-host")
	return filepath.Join(base, "state"), filepath.Join(base, "data")
}

// configDir is where settings are.
func configDir(home string) (string, error) {
	return filepath.Join(home, "Library", "Application Support"), nil
}

// UserTemp is the folder that the system's own libraries use for temporary files, whatever TMPDIR says; empty if the
// system does not tell.
var UserTemp = sync.OnceValue(func() string {
	out, err := exec.Command("/usr/bin/getconf", "DARWIN_USER_TEMP_DIR").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return ""
})
