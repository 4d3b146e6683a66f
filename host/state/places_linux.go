package state

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	return xdg("XDG_STATE_HOME", home, ".local/state"), xdg("XDG_DATA_HOME", home, ".local/share")
}
