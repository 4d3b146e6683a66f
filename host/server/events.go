package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hostshim/host/wire"
)

const (
	keptEvents   = 1024 // for followers that were away
	maxFollowers = 64
	maxFrames    = 16 << 10         // of events in one write, about
	beatEvery    = 15 * time.Second // tells both ends that the other is there
)

var errTooManyFollowers = &wire.Error{Code: wire.TooMany, Message: fmt.Sprintf("%d clients follow the events, which is the most", maxFollowers)}

// events is what happened last to the sessions (H07). Followers hold a position in it, so a slow one delays nobody and
// costs no memory: it finds a reset in place of what it missed.
type events struct {
	origin string // of this host's ids: an id of another one means nothing here

	mu        sync.Mutex
	kept      [][]byte      // the newest keptEvents; event n, counted from 1, at n % keptEvents
	last      int64         // the newest event
	wake      chan struct{} // closed at the next one; nil: nobody waits
	followers int
	closed    bool
}

func newEvents() *events {
	var origin [6]byte
	rand.Read(origin[:])
	return &events{origin: fmt.Sprintf("%x", origin), kept: make([][]byte, keptEvents)}
}

// add tells of something, without waiting.
func (e *events) add(name string, event wire.Event) {
	data, err := json.Marshal(event)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	e.kept[e.last%keptEvents] = e.frame(name, e.last, data)
	e.wakeAll()
}

// frame is one event as it is sent. JSON has no line breaks outside its strings, and inside they are escaped.
func (e *events) frame(name string, n int64, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\nid: %s-%d\ndata: %s\n\n", name, e.origin, n, data)
}

func (e *events) wakeAll() {
	if e.wake != nil {
		close(e.wake)
		e.wake = nil
	}
}

// close ends what everybody follows, once they have what is there.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.wakeAll()
}

// enter makes room for a follower until leave is called. It begins after the event of that id: an empty one is the newest.
func (e *events) enter(id string) (at int64, start []byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.followers >= maxFollowers {
		return 0, nil, errTooManyFollowers
	}
	e.followers++
	at = e.last
	if id == "" { // a client that loses its connection before an event comes can resume too
		return at, fmt.Appendf(nil, "retry: 1000\nid: %s-%d\n\n", e.origin, at), nil
	}
	origin, number, _ := strings.Cut(id, "-")
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && origin == e.origin && n >= 0 && n <= e.last {
		return n, []byte("retry: 1000\n\n"), nil
	}
	at = e.oldest() - 1
	return at, append([]byte("retry: 1000\n"), e.reset(at, 0)...), nil
}

func (e *events) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.followers--
}

func (e *events) oldest() int64 { return max(1, e.last-keptEvents+1) }

// reset is for a follower that goes on after event n.
func (e *events) reset(n, lost int64) []byte {
	data, _ := json.Marshal(wire.Reset{Lost: lost})
	return e.frame(wire.EventReset, n, data)
}

// after is what comes after event at, up to event upTo. Without anything it gives what is closed when there is more, or
// done when there never will be.
func (e *events) after(at int64) (frames []byte, upTo int64, more <-chan struct{}, done bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if lost := e.oldest() - 1 - at; lost > 0 {
		at += lost
		frames = e.reset(at, lost) // too slow, or away for too long
	}
	for at < e.last && len(frames) < maxFrames {
		at++
		frames = append(frames, e.kept[at%keptEvents]...)
	}
	if len(frames) > 0 || e.closed {
		return frames, at, nil, e.closed && len(frames) == 0
	}
	if e.wake == nil {
		e.wake = make(chan struct{})
	}
	return nil, at, e.wake, false
}

// follow sends start and what comes after event at, until ctx or the events end.
func (e *events) follow(ctx context.Context, at int64, start []byte, send func([]byte) error) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	if err := send(start); err != nil {
		return err
	}
	for {
		frames, upTo, more, done := e.after(at)
		at = upTo
		if done {
			return nil
		}
		if len(frames) == 0 {
			select {
			case <-more:
				continue
			case <-ctx.Done():
				return nil
			case <-beat.C:
				frames = []byte(":\n\n")
			}
		}
		if err := send(frames); err != nil {
			return err
		}
	}
}

// handleEvents sends what happens to the sessions until the client leaves or the host ends.
func (s *server) handleEvents(w http.ResponseWriter, r *http.Request) {
	if !s.follow.Take(1) {
		fail(w, errFollowed)
		return
	}
	defer s.follow.Give(1)
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("last_event_id")
	}
	at, start, err := s.events.enter(id)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.events.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	conn := http.NewResponseController(w)
	err = s.events.follow(r.Context(), at, start, func(p []byte) error {
		conn.SetWriteDeadline(time.Now().Add(writeWithin))
		_, err := w.Write(p)
		return errors.Join(err, conn.Flush())
	})
	if err != nil {
		panic(http.ErrAbortHandler) // a stream that broke off must not look whole
	}
}
