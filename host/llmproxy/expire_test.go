package llmproxy

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestP03Expires: what expired, and what is no longer allowed, goes within a minute with nobody asking.
func TestP03Expires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var policy Policy
		var reasons []string
		config := plainConfig()
		config.Policy = func() (Policy, error) { mu.Lock(); defer mu.Unlock(); return policy, nil }
		config.Audit = func(e Event) { mu.Lock(); defer mu.Unlock(); reasons = append(reasons, e.Reason) }
		p := New(config)
		defer p.Close()
		p.Create("idle", time.Second)
		p.Create("narrowed", time.Hour)
		p.Create("kept", time.Hour)
		mu.Lock()
		policy.Allowed = []string{"kept"}
		mu.Unlock()
		<-time.After(59 * time.Second)
		p.registry.mu.Lock()
		if n := len(p.registry.entries); n != 3 {
			t.Errorf("%d entries before the minute is over", n)
		}
		p.registry.mu.Unlock()
		<-time.After(time.Second)
		synctest.Wait()
		p.registry.mu.Lock()
		defer p.registry.mu.Unlock()
		if e := p.registry.entries; len(e) != 1 || e[0].pairing.ClientID != "kept" {
			t.Errorf("%d entries after a minute", len(e))
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"", "", "", endIdle, endPolicy}; !slices.Equal(reasons, want) {
			t.Errorf("events %q, want %q", reasons, want)
		}
	})
}
