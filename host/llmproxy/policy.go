package llmproxy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostshim/shim"
)

// Why no pairing was made. createStatus maps them to HTTP.
var (
	ErrClientID   = errors.New("client id must match [a-z0-9][a-z0-9._-]{0,63}")
	ErrNotAllowed = errors.New("client id is not among allowed_client_ids")
	ErrOwnPlan    = errors.New("client id is configured for its own subscription (subscription_client_ids)")
	ErrIdle       = errors.New("idle timeout must be 1 to 86400 whole seconds")
)

// Policy says who may have a pairing (P05). All of it counts when a pairing is made; Allowed counts every minute after.
type Policy struct {
	Allowed      []string      // nil allows all
	Subscription []string      // programs that have a subscription of their own
	OwnKey       []string      // clients with a key of their own: while such a pairing lives, no other key stands in for it
	Idle         time.Duration // for a pairing that is made without one; 0 is 30 minutes
}

const (
	defaultIdle = 30 * time.Minute
	maxIdle     = 24 * time.Hour
)

func (p Policy) allows(clientID string) bool {
	return p.Allowed == nil || slices.Contains(p.Allowed, clientID)
}

// admit checks who asks for a pairing, and returns its idle time.
func (p Policy) admit(clientID string, idle time.Duration) (time.Duration, error) {
	idle = cmp.Or(idle, p.Idle, defaultIdle)
	switch {
	case !validClientID(clientID):
		return 0, fmt.Errorf("%w: got %.80q", ErrClientID, clientID)
	case !p.allows(clientID):
		return 0, fmt.Errorf("%w: %q", ErrNotAllowed, clientID)
	case slices.Contains(p.Subscription, clientID):
		return 0, fmt.Errorf("%w: %q", ErrOwnPlan, clientID)
	case idle < time.Second || idle > maxIdle || idle%time.Second != 0:
		return 0, fmt.Errorf("%w: got %v", ErrIdle, idle)
	}
	return idle, nil
}

// validClientID reports whether id matches [a-z0-9][a-z0-9._-]{0,63}, which is a session id's pattern in lower case and
// at half the length.
func validClientID(id string) bool {
	return len(id) <= 64 && shim.ValidSessionID(id) && strings.ToLower(id) == id
}
