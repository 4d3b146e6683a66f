package client

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"hostshim/host/wire"
)

// Ambiguous says that several sessions are meant by one word.
type Ambiguous struct {
	Word     string
	Sessions []wire.Session
}

func (e *Ambiguous) Error() string {
	var all []string
	for _, s := range e.Sessions {
		all = append(all, fmt.Sprintf("%s (%s)", s.SessionID, cmp.Or(s.Name, s.State)))
	}
	return fmt.Sprintf("%d sessions are meant by %q: %s", len(e.Sessions), e.Word, strings.Join(all, ", "))
}

// Find is the session that a person means by word: its id, the name of a live one, the name of one that has ended, or how
// an id begins.
func (c *Client) Find(word string) (wire.Session, error) {
	if strings.Trim(word, ".") == "" { // no id, and no part of a path
		return wire.Session{}, &wire.Error{Code: wire.SessionUnknown, Message: fmt.Sprintf("no session %q", word)}
	}
	v, err := c.Session(word)
	var coded *wire.Error
	if err == nil || !errors.As(err, &coded) || coded.Code != wire.SessionUnknown {
		return v, err
	}
	all, listed := c.Sessions()
	if listed != nil {
		return v, listed
	}
	return Choose(word, all, coded)
}

// Choose finds word among sessions. Unknown is the error where none is meant.
func Choose(word string, all []wire.Session, unknown *wire.Error) (wire.Session, error) {
	for _, meant := range []func(wire.Session) bool{
		func(s wire.Session) bool { return s.SessionID == word },
		func(s wire.Session) bool { return s.Name == word && s.State != wire.StateEnded },
		func(s wire.Session) bool { return s.Name == word },
		func(s wire.Session) bool { return strings.HasPrefix(s.SessionID, word) },
	} {
		var found []wire.Session
		for _, s := range all {
			if word != "" && meant(s) {
				found = append(found, s)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return wire.Session{}, &Ambiguous{word, found}
		}
	}
	return wire.Session{}, unknown
}

// shutdownWithin is how long a host may take to end: its sessions have 3 s after TERM, their shims 12 s after KILL, and what
// is on its way 5 s, twice.
const shutdownWithin = 30 * time.Second

// Shutdown asks the host to end, with its sessions, and waits until it is gone: its lock is free then.
func (c *Client) Shutdown() error {
	if err := c.call("POST", "/shutdown", nil, nil); err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		lock, err := c.places.HostLock()
		if err == nil {
			return lock.Close()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Since(begun) > shutdownWithin {
			return fmt.Errorf("the host was asked to end, and is still there after %v", shutdownWithin)
		}
	}
}
