package server

import (
	"fmt"
	"testing"

	"hostshim/host"
	"hostshim/host/wire"
)

// An id that was taken again, and whose new session ended and was forgotten, before the old one's end was noted.
func TestEndedLate(t *testing.T) {
	g := &registry{log: discard, events: newEvents(), byID: map[string]*session{}}
	s, err := g.reserve(&host.Request{SessionID: "s", Kind: wire.KindPi})
	if err != nil {
		t.Fatal(err)
	}
	delete(g.byID, "s")
	g.ended(s)
	if live, ended := g.count(); live != 0 || ended != 0 {
		t.Errorf("%d live, %d ended", live, ended)
	}
}

// The last 200 ended sessions stay listed, and those that live: the one that ended first goes first.
func TestH07EndedSessionsKept(t *testing.T) {
	g := &registry{log: discard, events: newEvents(), byID: map[string]*session{}}
	var made []*session
	for i := range keptEnded + 6 {
		s, err := g.reserve(&host.Request{SessionID: fmt.Sprint(i), Kind: wire.KindPi})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, s)
	}
	lives, last := made[0], made[1] // the second one ends last
	for _, s := range append(made[2:], last) {
		g.ended(s)
	}
	for _, s := range made {
		gone := s.number > 2 && s.number <= 7
		if (g.find(s.id) == nil) != gone {
			t.Errorf("session %d of %d: listed %v", s.number, len(made), !gone)
		}
	}
	if live, ended := g.count(); g.find(lives.id) == nil || live != 1 || ended != 200 {
		t.Errorf("%d live, %d ended", live, ended)
	}
}
