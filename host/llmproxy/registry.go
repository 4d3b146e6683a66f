package llmproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"hostshim/host/credential"
)

// maxSessions bounds the registry (P01): a lookup compares with every entry.
const maxSessions = 64

// pairingLen is the length of 32 random bytes in base64url without padding.
const pairingLen = 43

// ErrBound says that no further session fits.
var ErrBound = fmt.Errorf("the bound of %d sessions is reached, revoke one first", maxSessions)

// Why a pairing ended.
const (
	endRevoked = "revoked"
	endIdle    = "idle"
	endPolicy  = "client id no longer allowed"
)

// Session is what is known of a pairing: all but the pairing.
type Pairing struct {
	ID       string // 16 lower-case hex
	ClientID string
	Idle     time.Duration
	Created  time.Time
	LastUsed time.Time

	launch bool   // of a launch, which ends it: not counted to the bound
	own    string // base URL on a listener of its own, where alone it is taken; "": the shared one
}

// ended is a session that left the registry, and why.
type ended struct {
	session Pairing
	reason  string
}

// instant is a moment on both clocks. The wall clock runs on while the machine is suspended, the other cannot
// be set back: idle time is over when either says so (P03).
type instant struct {
	wall time.Time     // without Go's monotonic reading, which would win over it
	run  time.Duration // since the clock was made, on the monotonic clock
}

type clock func() instant

func systemClock() clock {
	start := time.Now()
	return func() instant {
		now := time.Now()
		return instant{wall: now.Round(0), run: now.Sub(start)}
	}
}

type entry struct {
	session Pairing
	digest  [sha256.Size]byte
	used    instant
}

func (e *entry) expired(now instant) bool {
	return now.wall.Sub(e.used.wall) >= e.session.Idle || now.run-e.used.run >= e.session.Idle
}

// registry holds the live pairings, in memory only (P04). Every method first removes what has expired, so an
// entry that anybody saw expired is gone for good, whatever the clocks do next.
type registry struct {
	now clock

	mu      sync.Mutex
	entries []*entry
	over    []ended // left, not yet reported
}

// create makes a session and its pairing.
func (r *registry) create(session Pairing) (Pairing, credential.Secret, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.removeIdle(now)
	if !session.launch && r.counted() >= maxSessions {
		return Pairing{}, credential.Secret{}, ErrBound
	}
	session.ID, session.Created, session.LastUsed = r.unusedID(), now.wall, now.wall
	e := &entry{used: now, session: session}
	pairing := newPairing()
	e.digest = sha256.Sum256(pairing)
	r.entries = append(r.entries, e)
	return e.session, credential.NewSecret(pairing), nil
}

// counted is how many sessions count to the bound.
func (r *registry) counted() (n int) {
	for _, e := range r.entries {
		if !e.session.launch {
			n++
		}
	}
	return n
}

func newPairing() []byte {
	var raw [32]byte
	rand.Read(raw[:]) // ends the program rather than return weak bytes
	pairing := base64.RawURLEncoding.AppendEncode(nil, raw[:])
	clear(raw[:])
	return pairing
}

func (r *registry) unusedID() string {
	for {
		var raw [8]byte
		rand.Read(raw[:])
		id := hex.EncodeToString(raw[:])
		if !slices.ContainsFunc(r.entries, func(e *entry) bool { return e.session.ID == id }) {
			return id
		}
	}
}

// present finds the session of the values that a request presents as its pairing, and lets its idle time start
// again (P03). Values of two different sessions in one request name neither. The pairing that was found comes
// back with it: forwarding must know what to keep away from the upstream.
func (r *registry) present(values []string) (found Pairing, pairing string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.removeIdle(now)
	ok = true
	for _, value := range values {
		e := r.lookup(digest(value))
		if e == nil {
			continue
		}
		e.used, e.session.LastUsed = now, now.wall
		if pairing != "" && found.ID != e.session.ID {
			ok = false
		}
		found, pairing = e.session, value
	}
	if !ok || pairing == "" {
		return Pairing{}, "", false
	}
	return found, pairing, true
}

// digest hashes what fits without a copy on the heap.
func digest(value string) [sha256.Size]byte {
	var short [2 * pairingLen]byte
	if len(value) > len(short) {
		return sha256.Sum256([]byte(value))
	}
	return sha256.Sum256(short[:copy(short[:], value)])
}

// lookup compares with every entry, always all of them, and takes the same time whichever matches (P02).
func (r *registry) lookup(digest [sha256.Size]byte) *entry {
	at := -1
	for i, e := range r.entries {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], e.digest[:]), i, at)
	}
	if at < 0 {
		return nil
	}
	return r.entries[at]
}

// revoke ends a session at once and says whether there was one.
func (r *registry) revoke(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	before := len(r.entries)
	r.remove(endRevoked, func(e *entry) bool { return e.session.ID == id })
	return len(r.entries) < before
}

// list returns the live sessions, oldest first.
func (r *registry) list() []Pairing {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	sessions := make([]Pairing, 0, len(r.entries))
	for _, e := range r.entries {
		sessions = append(sessions, e.session)
	}
	return sessions
}

// expire removes what has expired, and every session whose client id is no longer allowed (P05).
func (r *registry) expire(allowed func(clientID string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	r.remove(endPolicy, func(e *entry) bool { return !allowed(e.session.ClientID) })
}

// takeEnded returns the sessions that ended since the last call: each is reported once.
func (r *registry) takeEnded() []ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := r.over
	r.over = nil
	return over
}

func (r *registry) removeIdle(now instant) {
	r.remove(endIdle, func(e *entry) bool { return e.expired(now) })
}

func (r *registry) remove(reason string, gone func(*entry) bool) {
	r.entries = slices.DeleteFunc(r.entries, func(e *entry) bool {
		if !gone(e) {
			return false
		}
		r.over = append(r.over, ended{e.session, reason})
		return true
	})
}
