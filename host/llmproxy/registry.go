package llmproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"hostshim/host/credential"
)

// maxPairings bounds the registry (P01), because each lookup compares with every entry.
const maxPairings = 64

// secretLen is the length of 32 random bytes in base64url without padding.
const secretLen = 43

// ErrBound reports that the registry is full.
var ErrBound = fmt.Errorf("the bound of %d sessions is reached, revoke one first", maxPairings)

// Why a pairing ended.
const (
	endRevoked = "revoked"
	endIdle    = "idle"
	endPolicy  = "client id no longer allowed"
)

// Pairing is what the proxy knows of a pairing, which is everything but its secret.
type Pairing struct {
	ID       string // 16 lower-case hex
	ClientID string
	Idle     time.Duration
	Created  time.Time
	LastUsed time.Time
	Requests int    // that went upstream
	Lost     int    // of these, how many found no upstream there
	Failure  string // which upstream the last of them did not find, and why

	Out *Egress // the session's way out; nil: it has none

	noModel  bool     // no request of the sandbox route may present it
	services []string // that it may be presented to (A04)
	template string   // where they are named
	ownKey   bool     // its client had a key of its own when it was made

	launch bool   // belongs to a launch that revokes it, so the bound does not count it
	own    string // base URL of the only listener that takes it; "": the shared listener takes it

	upstream *http.Transport // its own connections: what breaks one of HTTP/2 breaks no other session's requests
}

// ended is a pairing that left the registry, and why.
type ended struct {
	pairing Pairing
	reason  string
}

// instant is a moment on both clocks. The wall clock runs on while the machine is suspended, and the monotonic clock
// cannot be set back. A pairing has expired when either clock says so (P03).
type instant struct {
	wall time.Time     // without Go's monotonic reading, which would take precedence
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
	pairing Pairing
	digest  [sha256.Size]byte // of the secret
	used    instant
	spent   int             // requests to the model
	recent  []time.Duration // when the requests of the last minute began, on the monotonic clock; only if they are limited
}

func (e *entry) expired(now instant) bool {
	return now.wall.Sub(e.used.wall) >= e.pairing.Idle || now.run-e.used.run >= e.pairing.Idle
}

// registry holds the live pairings, in memory only (P04). Every method first removes the expired ones, so a pairing
// that was seen expired cannot revive, whatever the clocks do next.
type registry struct {
	now      clock
	upstream func() *http.Transport // makes the connections of a pairing

	mu      sync.Mutex
	entries []*entry
	over    []ended // left, but not yet reported
}

// create adds a pairing and returns it with its secret.
func (r *registry) create(pairing Pairing) (Pairing, credential.Secret, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.removeIdle(now)
	if !pairing.launch && r.counted() >= maxPairings {
		return Pairing{}, credential.Secret{}, ErrBound
	}
	pairing.ID, pairing.Created, pairing.LastUsed = r.unusedID(), now.wall, now.wall
	if pairing.Out == nil {
		pairing.upstream = r.upstream()
	} else { // a session has one part, whichever way it goes
		pairing.upstream = pairing.Out.proxy.newUpstream(pairing.Out.part)
		pairing.Out.session = pairing.ID
	}
	secret := newSecret()
	r.entries = append(r.entries, &entry{pairing: pairing, digest: sha256.Sum256(secret), used: now})
	return pairing, credential.NewSecret(secret), nil
}

// counted returns how many pairings count towards the bound.
func (r *registry) counted() (n int) {
	for _, e := range r.entries {
		if !e.pairing.launch {
			n++
		}
	}
	return n
}

func newSecret() []byte {
	var raw [32]byte
	rand.Read(raw[:]) // ends the program rather than return weak bytes
	secret := base64.RawURLEncoding.AppendEncode(nil, raw[:])
	clear(raw[:])
	return secret
}

func (r *registry) unusedID() string {
	for {
		var raw [8]byte
		rand.Read(raw[:])
		id := hex.EncodeToString(raw[:])
		if !slices.ContainsFunc(r.entries, func(e *entry) bool { return e.pairing.ID == id }) {
			return id
		}
	}
}

// present looks up the values that a request presents and restarts the idle time of each pairing found (P03). It
// returns the pairing and its secret, which forwarding must keep from the upstream. Secrets of two different pairings
// in one request match neither.
func (r *registry) present(values []string) (found Pairing, secret string, ok bool) {
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
		e.used, e.pairing.LastUsed = now, now.wall
		if secret != "" && found.ID != e.pairing.ID {
			ok = false
		}
		found, secret = e.pairing, value
	}
	if !ok || secret == "" {
		return Pairing{}, "", false
	}
	return found, secret, true
}

// digest hashes a value. One of usual length is copied to the stack, not to the heap.
func digest(value string) [sha256.Size]byte {
	var short [2 * secretLen]byte
	if len(value) > len(short) {
		return sha256.Sum256([]byte(value))
	}
	return sha256.Sum256(short[:copy(short[:], value)])
}

// lookup compares with every entry, and takes the same time whichever matches (P02).
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

// find returns the live entry of a pairing, or nil. The caller holds the lock.
func (r *registry) find(id string) *entry {
	if at := slices.IndexFunc(r.entries, func(e *entry) bool { return e.pairing.ID == id }); at >= 0 {
		return r.entries[at]
	}
	return nil
}

// pairing returns a live pairing as it is now.
func (r *registry) pairing(id string) (Pairing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.find(id); e != nil {
		return e.pairing, true
	}
	return Pairing{}, false
}

// revoke ends a pairing at once, and returns it if it was there.
func (r *registry) revoke(id string) (Pairing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	e := r.find(id)
	if e == nil {
		return Pairing{}, false
	}
	r.remove(endRevoked, func(other *entry) bool { return other == e })
	return e.pairing, true
}

// list returns the live pairings, oldest first.
func (r *registry) list() []Pairing {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	pairings := make([]Pairing, 0, len(r.entries))
	for _, e := range r.entries {
		pairings = append(pairings, e.pairing)
	}
	return pairings
}

// expire removes the pairings that have expired and those whose client id is no longer allowed (P05).
func (r *registry) expire(allowed func(clientID string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeIdle(r.now())
	r.remove(endPolicy, func(e *entry) bool { return !e.pairing.noModel && !allowed(e.pairing.ClientID) })
}

// letsOut says whether the shared listener is some session's way out.
func (r *registry) letsOut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.entries, func(e *entry) bool { return e.pairing.Out != nil && e.pairing.own == "" })
}

// takeEnded returns the pairings that ended since the last call, so that each is reported once.
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
		r.over = append(r.over, ended{e.pairing, reason})
		return true
	})
}
