package state

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"hostshim/shim"
)

// CleanUpLost cleans up after sessions whose host was killed, and returns their ids: what still runs of them is ended,
// profile and temporary folder are removed, and each leaves an audit row. The caller says whether it holds the host lock:
// then no long-lived host lives, and the sessions of one are lost too.
func (p Places) CleanUpLost(haveHostLock bool) (lost []string) {
	dir := filepath.Join(p.State, "sessions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	servedToo, asked := haveHostLock, haveHostLock
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !shim.ValidSessionID(id) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if isServed(path) {
			if !asked {
				asked = true
				if lock, err := p.HostLock(); err == nil { // no long-lived host lives, nor can one begin while this holds the lock
					servedToo = true
					defer lock.Close()
				}
			}
			if !servedToo {
				continue
			}
		}
		f, err := lockFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // somebody's, or gone
		}
		if p.bury(f, servedToo) {
			lost = append(lost, id)
		}
	}
	return lost
}

func isServed(path string) bool {
	text, err := os.ReadFile(path)
	var s Session
	return err == nil && json.NewDecoder(bytes.NewReader(text)).Decode(&s) == nil && s.Served
}

// bury removes what a lost session left, then its record f, which the caller has locked, and says whether there was
// a session. Without servedToo a served session is left alone: its host may live.
func (p Places) bury(f *os.File, servedToo bool) bool {
	defer f.Close()
	var s Session
	lines := json.NewDecoder(f)
	unfinished := lines.Decode(&s)
	if s.Served && !servedToo {
		return false
	}
	defer os.Remove(f.Name())
	if unfinished != nil {
		return false // its host was killed before it had written anything else
	}
	var left, next leftovers
	for lines.Decode(&next) == nil {
		left, next = next, leftovers{}
	}
	left.end()
	// The record lies in a folder that only this user can write. Even so nothing is removed but what a host makes.
	if filepath.Dir(s.Profile) == p.Profiles() {
		os.Remove(s.Profile)
	}
	if strings.HasPrefix(filepath.Base(s.Temp), tempPrefix) && filepath.Dir(s.Temp) == RealTemp() {
		RemoveTree(s.Temp)
	}
	p.Append(Row{Event: EventEnd, Outcome: OutcomeError, SessionID: s.SessionID, Kind: s.Kind, TemplateID: s.TemplateID,
		Directory: s.Directory, Sandbox: s.Sandbox, Credential: s.Credential, PairingID: left.PairingID,
		Error: "its host was killed"})
	return true
}
