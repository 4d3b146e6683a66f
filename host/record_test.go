package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A record that another host has locked may be one that it cleans up, or only looks at: a claim waits a moment.
func TestH01ClaimWaits(t *testing.T) {
	h := New(Places{State: filepath.Join(t.TempDir(), "state")}, nil, func(string) {})
	if _, err := h.Places.stateDir("sessions"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.Places.State, "sessions", "one.json")
	other, err := lockFile(path, os.O_RDWR|os.O_CREATE, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{Request: &Request{SessionID: "one"}}
	var refusal *Refusal
	if _, err := h.claim(p, ""); !errors.As(err, &refusal) || refusal.Code != SessionExists {
		t.Errorf("while it is locked: %v", err)
	}
	time.AfterFunc(claimWithin/4, func() {
		os.Remove(path)
		other.Close()
	})
	r, err := h.claim(p, "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the record: %v, %v", info, err)
	}
	r.release()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after its end: %v", err)
	}
}
