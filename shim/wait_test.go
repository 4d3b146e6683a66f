package shim

import (
	"os"
	"testing"
	"testing/synctest"
)

// A second notice finds the first one pending, and nobody reading: it must not wait for the reader, which may be the
// caller. In its bubble a wait without end fails at once.
func TestChildChangedNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &signals{child: make(chan os.Signal, 1)}
		s.childChanged()
		s.childChanged()
		if len(s.child) != 1 {
			t.Errorf("%d notices, want 1", len(s.child))
		}
	})
}
