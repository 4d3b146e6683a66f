package llmproxy

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Errors of creation, each with its HTTP status in api.go.
var (
	ErrClientID   = errors.New("client id must match [a-z0-9][a-z0-9._-]{0,63}")
	ErrNotAllowed = errors.New("client id is not among allowed_client_ids")
	ErrOwnPlan    = errors.New("client id is configured for its own subscription (subscription_client_ids)")
	ErrIdle       = errors.New("idle timeout must be 1 to 86400 whole seconds")
)

// Policy says who may have a pairing. It is asked at creation; Allowed is asked again at every sweep (P05).
type Policy struct {
	Allowed      []string      // nil allows all
	Subscription []string      // programs that use a subscription of their own
	Idle         time.Duration // when a creation names none; 0 is 30 minutes
}

const (
	defaultIdle = 30 * time.Minute
	maxIdle     = 24 * time.Hour
)

func (p Policy) allows(clientID string) bool {
	return p.Allowed == nil || slices.Contains(p.Allowed, clientID)
}

// admit checks a creation and returns the idle time that it gets.
func (p Policy) admit(clientID string, idle time.Duration) (time.Duration, error) {
	if idle == 0 {
		idle = p.Idle
	}
	if idle == 0 {
		idle = defaultIdle
	}
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

// validClientID says whether id matches [a-z0-9][a-z0-9._-]{0,63}.
func validClientID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}
