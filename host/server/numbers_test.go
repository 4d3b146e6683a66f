package server

import (
	"testing"
	"time"
)

// The numbers that a rule or the design names, where to see them at work would take as long or as much as they say.
func TestNumbersOfTheRules(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		got, want  any
	}{
		{"H04", "for a target to start", startWithin, 10 * time.Second},
		{"H08", "from TERM to KILL", killAfter, 3 * time.Second},
		{"H13", "for what a killed host had forked", silentWithin, 10 * time.Second},
		{"H15", "connections whose request has not come", maxWaiting, 128},
		{"H15", "of half a header", (&server{Config: Config{Log: discard}}).webServer(nil).MaxHeaderBytes, 16 << 10},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s: %v, want %v", c.rule, c.name, c.got, c.want)
		}
	}
}
