package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"hostshim/host/descriptors"
	"hostshim/host/wire"
)

// addMany tells of n launches.
func addMany(e *events, n int) {
	for i := range n {
		e.add(wire.EventLaunch, wire.Event{SessionID: fmt.Sprintf("s%d", i)})
	}
}

// followed is what a follower gets that resumes after id, when nothing more comes.
func followed(t *testing.T, e *events, id string) string {
	t.Helper()
	at, start, err := e.enter(id)
	if err != nil {
		t.Fatal(err)
	}
	defer e.leave()
	var got strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.follow(ctx, at, start, func(p []byte) error { got.Write(p); return nil })
	return strings.ReplaceAll(got.String(), e.origin, "HOST")
}

func TestH07EventsResume(t *testing.T) {
	e := newEvents()
	if got := followed(t, e, ""); got != "retry: 1000\nid: HOST-0\n\n" {
		t.Errorf("nothing yet: %q", got)
	}
	addMany(e, 3)
	third := "event: launch\nid: HOST-3\ndata: {\"session_id\":\"s2\",\"kind\":\"\",\"name\":\"\",\"template_id\":\"\",\"at\":\"\"}\n\n"
	for id, want := range map[string]string{
		"":              "retry: 1000\nid: HOST-3\n\n",
		e.origin + "-3": "retry: 1000\n\n",
		e.origin + "-2": "retry: 1000\n\n" + third,
	} {
		if got := followed(t, e, id); got != want {
			t.Errorf("after %q: %q, want %q", id, got, want)
		}
	}
	for _, id := range []string{"other-2", e.origin + "-4", e.origin + "--1", e.origin + "-", e.origin, "-", "x\ny", e.origin + "-99999999999999999999"} {
		got := followed(t, e, id)
		if !strings.HasPrefix(got, "retry: 1000\nevent: reset\nid: HOST-0\ndata: {}\n\nevent: launch\nid: HOST-1\n") || !strings.HasSuffix(got, third) {
			t.Errorf("after %q: %q", id, got)
		}
	}
}

// Whoever missed more than is kept learns how many, and finds all the rest in order.
func TestH07EventsLost(t *testing.T) {
	e := newEvents()
	addMany(e, 3)
	id := e.origin + "-1"
	addMany(e, keptEvents+5)
	got := followed(t, e, id)
	if !strings.HasPrefix(got, "retry: 1000\n\nevent: reset\nid: HOST-8\ndata: {\"lost\":7}\n\nevent: launch\nid: HOST-9\n") {
		t.Errorf("%.200q", got)
	}
	if n := strings.Count(got, "event: launch\n"); n != keptEvents || !strings.Contains(got, fmt.Sprintf("id: HOST-%d\n", keptEvents+8)) {
		t.Errorf("%d events", n)
	}
}

// A follower that takes its time delays nobody, sees a number once, and with its resets misses none.
func TestH07EventsSlow(t *testing.T) {
	e := newEvents()
	at, start, _ := e.enter("")
	var seen, lost, last int64
	done := make(chan error)
	go func() {
		done <- e.follow(t.Context(), at, start, func(p []byte) error {
			for _, frame := range strings.SplitAfter(string(p), "\n\n") {
				var name, id string
				fmt.Sscanf(frame, "event: %s\nid: %s\n", &name, &id)
				var n int64
				fmt.Sscanf(strings.TrimPrefix(id, e.origin+"-"), "%d", &n)
				switch name {
				case wire.EventReset:
					lost += n - last
					last = n
				case wire.EventLaunch:
					if n != last+1 {
						return fmt.Errorf("%d after %d", n, last)
					}
					seen, last = seen+1, n
				}
			}
			if rand.IntN(3) == 0 {
				e.add(wire.EventLaunch, wire.Event{}) // it has no lock of theirs
			}
			return nil
		})
	}()
	addMany(e, 20*keptEvents)
	e.close()
	if err := <-done; err != nil || seen+lost != e.last || last != e.last {
		t.Errorf("%v: saw %d and lost %d of %d", err, seen, lost, e.last)
	}
}

func TestH07EventsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEvents()
		beats := 0
		gone := errors.New("gone")
		err := e.follow(t.Context(), 0, nil, func(p []byte) error {
			if string(p) == ":\n\n" {
				beats++
			}
			if beats == 3 {
				return gone
			}
			return nil
		})
		if err != gone {
			t.Error(err)
		}
	})
}

func TestH07EventsFollowers(t *testing.T) {
	s := &server{events: newEvents(), follow: descriptors.NewPool(100)}
	for range maxFollowers {
		if _, _, err := s.events.enter(""); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	s.handleEvents(w, httptest.NewRequest("GET", "/events", nil))
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"error":"too_many"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.events.leave()
	s.events.close()
	w = httptest.NewRecorder()
	s.handleEvents(w, httptest.NewRequest("GET", "/events?last_event_id=old-1", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "event: reset\n") || s.events.followers != maxFollowers-1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
