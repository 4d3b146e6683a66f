package host

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hostshim/shim"
)

// Sweep cleans up after sessions whose host was killed, and returns their ids: what still runs of them is ended,
// profile and temporary folder are removed, and each leaves an audit row.
func (h *Host) Sweep() (lost []string) {
	dir := filepath.Join(h.Places.State, "sessions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	servedToo, asked := h.served, h.served
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !shim.ValidSessionID(id) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if isServed(path) {
			if !asked {
				asked = true
				if lock, err := h.hostLock(); err == nil { // there is no long-lived host, nor will one begin meanwhile
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
		if h.bury(f, servedToo) {
			lost = append(lost, id)
		}
	}
	return lost
}

func isServed(path string) bool {
	text, err := os.ReadFile(path)
	var r record
	return err == nil && json.NewDecoder(bytes.NewReader(text)).Decode(&r) == nil && r.Served
}

// bury removes what a lost session left, then its record f, which the caller has locked, and says whether there was
// a session. One that is served may live for all that: without servedToo it is left alone.
func (h *Host) bury(f *os.File, servedToo bool) bool {
	defer f.Close()
	var r record
	lines := json.NewDecoder(f)
	unfinished := lines.Decode(&r)
	if r.Served && !servedToo {
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
	// The record lies in a folder that only this user can write, and still only what a host makes is removed.
	if filepath.Dir(r.Profile) == h.Places.profiles() {
		os.Remove(r.Profile)
	}
	if strings.HasPrefix(filepath.Base(r.Temp), "relay-") && filepath.Dir(r.Temp) == realTemp() {
		removeTree(r.Temp)
	}
	h.audit(Row{Event: "session_end", Outcome: "error", SessionID: r.SessionID, Kind: r.Kind, TemplateID: r.TemplateID,
		Directory: r.Directory, Sandbox: r.Sandbox, Credential: r.Credential, PairingID: left.PairingID,
		Error: "its host was killed"})
	return true
}

func (p Places) profiles() string { return filepath.Join(p.State, "profiles") }

// removeTree removes a session's temporary folder, with folders in it that the session closed to itself. The
// folder is the session's: nothing may lead out of it.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil { // the folder above is not the session's: this is no link
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			root.Chmod(path, 0o700) // before the walk reads it
		}
		return nil
	})
	return os.RemoveAll(dir)
}
