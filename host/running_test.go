package host

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"hostshim/shim"
)

func TestNotStarted(t *testing.T) {
	for _, c := range []struct {
		name      string
		cause     error
		last      shimEvent
		end       End
		sandboxed bool
		said      string
		want      string
	}{
		{"identity", errEnded, shimEvent{Event: shim.EventBadSecret}, End{Status: shim.ExitRefused}, true, "x", "identity_refused: bad_secret"},
		{"sandbox", errEnded, shimEvent{Event: shim.EventSpawnFailed}, End{Status: shim.ExitUsage}, true, "no Landlock", "sandbox_unavailable: no Landlock"},
		{"usage", errEnded, shimEvent{}, End{Status: shim.ExitUsage}, false, "bad flag", "spawn_failed: bad flag"},
		{"out of memory", errEnded, shimEvent{Event: shim.EventExit, Signal: 9}, End{Status: 137, Signal: syscall.SIGKILL}, true, "", `spawn_failed: "agent" was ended before it had started: killed`},
		{"shim killed", errEnded, shimEvent{}, End{Status: 137, Signal: syscall.SIGKILL, Shim: syscall.SIGKILL}, true, "", `spawn_failed: the shim was ended before it had said that "agent" had started: killed`},
		{"missing", errEnded, shimEvent{Event: shim.EventSpawnFailed, Errno: 2}, End{Status: shim.ExitNotFound}, true, "", `spawn_failed: "agent": no such file or directory`},
		{"late", errors.New("too late"), shimEvent{}, End{Status: 143, Signal: syscall.SIGTERM}, true, "", "spawn_failed: too late"},
	} {
		if err := notStarted(c.last, c.cause, c.end, "agent", c.sandboxed, c.said); err.Error() != c.want {
			t.Errorf("%s: %q, want %q", c.name, err, c.want)
		}
	}
}

// Who ends the host by a signal does not wait for a deep folder's removal.
func TestH14AwaitRemovedHearsSignals(t *testing.T) {
	hurry := make(chan os.Signal, 1)
	hurry <- syscall.SIGTERM
	(&Running{removed: make(chan struct{})}).AwaitRemoved(hurry)
}
