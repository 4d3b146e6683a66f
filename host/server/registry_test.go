package server

import (
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
