package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hostshim/host/wire"
)

// A record that another host has locked may be one that it cleans up, or only looks at: a claim waits a moment.
func TestH01ClaimWaits(t *testing.T) {
	p := Places{State: filepath.Join(t.TempDir(), "state")}
	if _, err := p.Dir("sessions"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.State, "sessions", "one.json")
	other, err := lockFile(path, os.O_RDWR|os.O_CREATE, 0)
	if err != nil {
		t.Fatal(err)
	}
	one := Session{SessionID: "one"}
	var refused *wire.Error
	if _, err := p.Claim(one); !errors.As(err, &refused) || refused.Code != wire.SessionExists {
		t.Errorf("while it is locked: %v", err)
	}
	time.AfterFunc(claimWithin/4, func() {
		os.Remove(path)
		other.Close()
	})
	r, err := p.Claim(one)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the record: %v, %v", info, err)
	}
	r.Release()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after its end: %v", err)
	}
}
