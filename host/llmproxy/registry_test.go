package llmproxy

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func newTestRegistry() (*registry, *fakeClock) {
	c := newFakeClock()
	return &registry{now: c.read, upstream: func() *http.Transport { return NewUpstream(nil) }}, c
}

func (r *registry) mustCreate(t *testing.T, clientID string, idle time.Duration) (Pairing, string) {
	t.Helper()
	s, pairing, err := r.create(Pairing{ClientID: clientID, Idle: idle})
	if err != nil {
		t.Fatal(err)
	}
	return s, string(pairing.Reveal())
}

func (r *registry) knows(pairing string) bool {
	_, _, ok := r.present([]string{pairing})
	return ok
}

func TestP01Shape(t *testing.T) {
	r, c := newTestRegistry()
	ids, pairings := map[string]bool{}, map[string]bool{}
	for range maxPairings {
		s, pairing := r.mustCreate(t, "a", time.Minute)
		if raw, err := hex.DecodeString(s.ID); err != nil || len(raw) != 8 || strings.ToLower(s.ID) != s.ID {
			t.Errorf("id %q", s.ID)
		}
		if !wellFormed([]byte(pairing)) {
			t.Errorf("pairing of length %d is not well formed", len(pairing))
		}
		if s.Created != c.read().wall || s.ClientID != "a" || s.Idle != time.Minute {
			t.Errorf("session %+v", s)
		}
		ids[s.ID], pairings[pairing] = true, true
	}
	if len(ids) != maxPairings || len(pairings) != maxPairings {
		t.Errorf("%d ids, %d pairings", len(ids), len(pairings))
	}
	if _, _, err := r.create(Pairing{ClientID: "a", Idle: time.Minute}); !errors.Is(err, ErrBound) || !strings.Contains(err.Error(), "64") {
		t.Errorf("beyond the bound: %v", err)
	}
	// The bound counts live pairings only, and none of a launch, which revokes its own.
	for range 2 {
		if _, _, err := r.create(Pairing{ClientID: "a", Idle: time.Minute, launch: true}); err != nil {
			t.Errorf("a launch beyond the bound: %v", err)
		}
	}
	c.pass(time.Minute)
	if _, _, err := r.create(Pairing{ClientID: "a", Idle: time.Minute}); err != nil {
		t.Errorf("after all expired: %v", err)
	}
}

func TestP02OnlyDigests(t *testing.T) {
	r, _ := newTestRegistry()
	var pairings []string
	for range 10 {
		_, p := r.mustCreate(t, "a", time.Minute)
		pairings = append(pairings, p)
	}
	for i, p := range pairings {
		s, got, ok := r.present([]string{p})
		if !ok || got != p || s.ID != r.entries[i].pairing.ID {
			t.Errorf("pairing %d: found %v %v", i, s.ID, ok)
		}
		if r.entries[i].digest != digest(p) || strings.Contains(string(r.entries[i].digest[:]), p) {
			t.Errorf("entry %d", i)
		}
	}
	for _, wrong := range []string{"", "x", pairings[0][:42], pairings[0] + "A", strings.ToLower(pairings[0]), strings.Repeat("A", 10000)} {
		if r.knows(wrong) {
			t.Errorf("knows %.50q", wrong)
		}
	}
}

func TestPresentSeveral(t *testing.T) {
	r, _ := newTestRegistry()
	s1, p1 := r.mustCreate(t, "a", time.Minute)
	_, p2 := r.mustCreate(t, "b", time.Minute)
	for _, c := range []struct {
		name   string
		values []string
		want   string
	}{
		{"none", nil, ""},
		{"first of two", []string{p1, "other"}, s1.ID},
		{"last of two", []string{"other", p1}, s1.ID},
		{"twice the same", []string{p1, p1}, s1.ID},
		{"two sessions", []string{p1, p2}, ""},
		{"two sessions and one again", []string{p1, p2, p1}, ""},
	} {
		s, pairing, ok := r.present(c.values)
		if s.ID != c.want || ok != (c.want != "") || (pairing == p1) != ok {
			t.Errorf("%s: %q %v", c.name, s.ID, ok)
		}
	}
}

func TestP03BothClocks(t *testing.T) {
	const idle = 10 * time.Minute
	for _, c := range []struct {
		name  string
		steps func(*registry, *fakeClock, string)
		alive bool
	}{
		{"just before", func(_ *registry, c *fakeClock, _ string) { c.pass(idle - 1) }, true},
		{"at its end", func(_ *registry, c *fakeClock, _ string) { c.pass(idle) }, false},
		{"suspended: the wall clock alone runs", func(_ *registry, c *fakeClock, _ string) { c.move(idle, 0) }, false},
		{"set back an hour, then idle", func(_ *registry, c *fakeClock, _ string) { c.move(-time.Hour, 0); c.pass(idle) }, false},
		{"set back an hour, not idle", func(_ *registry, c *fakeClock, _ string) { c.move(-time.Hour, 0); c.pass(idle - 1) }, true},
		{"slides", func(r *registry, c *fakeClock, p string) {
			for range 10 {
				c.pass(idle - 1)
				r.present([]string{p})
			}
			c.pass(idle - 1)
		}, true},
		{"slides on a set-back clock", func(r *registry, c *fakeClock, p string) {
			c.move(-time.Hour, 0)
			r.present([]string{p})
			c.pass(idle)
		}, false},
		{"seen expired by a list, then set back", func(r *registry, c *fakeClock, _ string) {
			c.move(idle, 0)
			r.list()
			c.move(-time.Hour, 0)
		}, false},
		{"seen expired by its own look-up, then set back", func(r *registry, c *fakeClock, p string) {
			c.move(idle, 0)
			r.present([]string{p})
			c.move(-time.Hour, 0)
		}, false},
		{"seen expired by another look-up, then set back", func(r *registry, c *fakeClock, _ string) {
			c.move(idle, 0)
			r.present([]string{"other"})
			c.move(-time.Hour, 0)
		}, false},
		{"seen expired by a sweep, then set back", func(r *registry, c *fakeClock, _ string) {
			c.move(idle, 0)
			r.expire(func(string) bool { return true })
			c.move(-time.Hour, 0)
		}, false},
	} {
		r, clock := newTestRegistry()
		_, pairing := r.mustCreate(t, "a", idle)
		c.steps(r, clock, pairing)
		if got := len(r.list()) == 1; got != c.alive {
			t.Errorf("%s: listed %v, want %v", c.name, got, c.alive)
		}
		if got := r.knows(pairing); got != c.alive {
			t.Errorf("%s: known %v, want %v", c.name, got, c.alive)
		}
	}
}

func TestP05Admit(t *testing.T) {
	long := "a" + strings.Repeat("b", 63)
	for _, c := range []struct {
		name   string
		policy Policy
		id     string
		idle   time.Duration
		want   time.Duration
		err    error
	}{
		{"default idle", Policy{}, "a", 0, 30 * time.Minute, nil},
		{"policy's idle", Policy{Idle: time.Minute}, "a", 0, time.Minute, nil},
		{"own idle", Policy{Idle: time.Minute}, "a", time.Second, time.Second, nil},
		{"a day", Policy{}, long, 24 * time.Hour, 24 * time.Hour, nil},
		{"over a day", Policy{}, "a", 24*time.Hour + time.Second, 0, ErrIdle},
		{"negative", Policy{}, "a", -time.Second, 0, ErrIdle},
		{"part of a second", Policy{}, "a", 1500 * time.Millisecond, 0, ErrIdle},
		{"empty id", Policy{}, "", 0, 0, ErrClientID},
		{"long id", Policy{}, long + "c", 0, 0, ErrClientID},
		{"upper case", Policy{}, "A", 0, 0, ErrClientID},
		{"starts with a dot", Policy{}, ".a", 0, 0, ErrClientID},
		{"newline", Policy{}, "a\n", 0, 0, ErrClientID},
		{"all marks", Policy{}, "0._-", 0, 30 * time.Minute, nil},
		{"allowed", Policy{Allowed: []string{"a"}}, "a", 0, 30 * time.Minute, nil},
		{"not allowed", Policy{Allowed: []string{"a"}}, "b", 0, 0, ErrNotAllowed},
		{"none allowed", Policy{Allowed: []string{}}, "a", 0, 0, ErrNotAllowed},
		{"own subscription", Policy{Subscription: []string{"a"}}, "a", 0, 0, ErrOwnPlan},
	} {
		got, err := c.policy.admit(c.id, c.idle)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
}

func FuzzLookup(f *testing.F) {
	r, _ := newTestRegistry()
	pairings := map[string]bool{}
	for range 8 {
		_, p, err := r.create(Pairing{ClientID: "a", Idle: time.Hour})
		if err != nil {
			f.Fatal(err)
		}
		pairings[string(p.Reveal())] = true
		f.Add(string(p.Reveal()))
	}
	f.Add("")
	f.Add(strings.Repeat("A", 43))
	f.Fuzz(func(t *testing.T, value string) {
		if r.knows(value) != pairings[value] {
			t.Errorf("%q: known %v", value, !pairings[value])
		}
	})
}
