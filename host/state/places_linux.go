package state

import (
	"fmt"
	"os"
	"path/filepath"
)

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	return xdg("XDG_STATE_HOME", home, ".local/state"), xdg("XDG_DATA_HOME", home, ".local/share")
}

// configDir is where settings are.
func configDir(home string) (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		return filepath.Join(home, ".config"), nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("XDG_CONFIG_HOME %q is not absolute", dir)
	}
	return dir, nil
}

// UserTemp is empty: TMPDIR, or /tmp, is all there is.
func UserTemp() string { return "" }

// xdg is a folder the environment names, if it does so with an absolute path, else one below home.
func xdg(name, home, below string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return filepath.Join(dir, "relay-host")
	}
	return filepath.Join(home, below, "relay-host")
}
