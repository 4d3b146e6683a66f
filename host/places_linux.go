package host

import "syscall"

// defaultDirs are the state and the data folder.
func defaultDirs(home string) (state, data string) {
	return xdg("XDG_STATE_HOME", home, ".local/state"), xdg("XDG_DATA_HOME", home, ".local/share")
}

// endWithHost has the kernel send TERM to a shim whose host is gone, so that no session outlives the process that
// can say what became of it. The signal belongs to the thread that starts the shim, which must stay.
func endWithHost(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
