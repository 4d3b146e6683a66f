package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"hostshim/host"
	"hostshim/host/wire"
)

// keptEnded is how many ended sessions stay listed (H07).
const keptEnded = 200

var errStopping = &wire.Error{Code: wire.Stopping, Message: "the host is stopping"}

// registry is the sessions of a long-lived host, by id.
type registry struct {
	log    *slog.Logger
	events *events

	mu       sync.Mutex
	byID     map[string]*session
	made     int64      // sessions ever
	order    []*session // ended ones, oldest first
	stopping bool
	live     sync.WaitGroup // sessions reserved and not yet ended
}

// reserve takes a session id: of several launches with one id exactly one gets it. An ended session's id is free again,
// and one that resumes it must be of the same kind (H04).
func (g *registry) reserve(r *host.Request) (*session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return nil, errStopping
	}
	old, conversation := g.byID[r.SessionID], ""
	if old != nil {
		v := old.view()
		conversation = v.Conversation
		exists := func(text string) error {
			return &wire.Error{Code: wire.SessionExists, Message: fmt.Sprintf("session %q %s", r.SessionID, text)}
		}
		switch {
		case v.State != wire.StateEnded:
			return nil, exists("is running")
		case r.Resume && v.Kind != r.Kind:
			return nil, exists(fmt.Sprintf("has ended, and was of kind %q", v.Kind))
		}
	}
	if err := converse(r, conversation); err != nil {
		return nil, err
	}
	s := newSession(r, g.log, g.events)
	s.previous = old
	g.made++
	s.number = g.made
	g.byID[r.SessionID] = s
	g.live.Add(1)
	return s, nil
}

// drop forgets a session that did not start. One that it was to resume is listed again.
func (g *registry) drop(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.previous != nil {
		g.byID[s.id] = s.previous
	} else {
		delete(g.byID, s.id)
	}
	g.live.Done()
}

// started forgets the session whose id s reuses.
func (g *registry) started(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.previous != nil {
		g.order = slices.DeleteFunc(g.order, func(o *session) bool { return o == s.previous })
		s.previous = nil
	}
}

// ended keeps s among those that ended, unless its id was taken again already, and forgets the oldest ones.
func (g *registry) ended(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.live.Done()
	if now := g.byID[s.id]; now != s && (now == nil || now.previous != s) {
		return
	}
	g.order = append(g.order, s)
	for len(g.order) > keptEnded {
		old := g.order[0]
		g.order = slices.Delete(g.order, 0, 1)
		if id := old.id; g.byID[id] == old {
			delete(g.byID, id)
		} else if now := g.byID[id]; now != nil && now.previous == old {
			now.previous = nil
		}
	}
}

func (g *registry) find(id string) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byID[id]
}

// all is every session, oldest first.
func (g *registry) all() []wire.Session {
	sessions := g.snapshot()
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(a.number, b.number) })
	views := make([]wire.Session, 0, len(sessions))
	for _, s := range sessions {
		views = append(views, s.view())
	}
	return views
}

// count is how many sessions live, and how many ended ones are kept.
func (g *registry) count() (live, ended int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.byID) - len(g.order), len(g.order)
}

// stop takes no new session and ends those that are there.
func (g *registry) stop() {
	g.mu.Lock()
	g.stopping = true
	g.mu.Unlock()
	for _, s := range g.snapshot() {
		s.terminate(wire.EndHostStopped)
	}
}

// kill ends what is left at once.
func (g *registry) kill() {
	for _, s := range g.snapshot() {
		s.kill()
	}
}

func (g *registry) snapshot() []*session {
	g.mu.Lock()
	defer g.mu.Unlock()
	sessions := make([]*session, 0, len(g.byID))
	for _, s := range g.byID {
		sessions = append(sessions, s)
	}
	return sessions
}
