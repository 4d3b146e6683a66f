package state

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	return xdg("XDG_STATE_HOME", home, ".local/state"), xdg("XDG_DATA_HOME", home, ".local/share")
}

// UserTemp is empty: TMPDIR, or /tmp, is all there is.
func UserTemp() string { return "" }
