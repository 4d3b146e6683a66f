package host

import (
	"io"
	"strings"
	"testing"
	"time"

	"hostshim/shim"
)

// Whatever comes over the status pipe, reading it ends with the pipe, and a line that is no event is left out.
func FuzzEvents(f *testing.F) {
	f.Add(`{"event":"started","pid":7}` + "\n" + `{"event":"exit","status":3}` + "\n")
	f.Add("{\"event\":\"exit\",\"signal\":9}")
	f.Add(strings.Repeat("x", 100000) + "\n{}\n")
	f.Add("[]\n{\"pid\":99999999999999999999}\n\x00\n")
	f.Fuzz(func(t *testing.T, text string) {
		events := make(chan shimEvent)
		go readEvents(io.NopCloser(strings.NewReader(text)), events)
		n, started := 0, false
		for e := range events {
			n++
			started = started || e.Event == shim.EventStarted
		}
		if n > strings.Count(text, "\n")+1 {
			t.Errorf("%d events in %q", n, text)
		}
		// The same as AwaitStart sees it: it ends, too.
		r := &Running{events: make(chan shimEvent, 8), Plan: &Plan{request: &Request{}, argv: []string{"x"}}}
		go readEvents(io.NopCloser(strings.NewReader(text)), r.events)
		if !started {
			if _, err := r.AwaitStart(time.Minute); err == nil {
				t.Errorf("started by %q", text)
			}
		}
		for range r.events {
		}
	})
}
