package doctor

import (
	"os"
	"path/filepath"

	"hostshim/host/state"
)

// trialFolder makes the folder of the trials: with the temporary files, unless other users could replace it there and every
// token file in it is refused (T06). In a container the temporary and the home folder are often such volumes.
func trialFolder(p state.Places) (string, error) {
	for _, in := range []string{state.RealTemp(), p.Data, "/dev/shm"} {
		if own(in) {
			return os.MkdirTemp(in, "relay-doctor-")
		}
	}
	return os.MkdirTemp(state.RealTemp(), "relay-doctor-")
}

// own says whether no other user can write the folder dir, nor one above it, but for sticky ones.
func own(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
