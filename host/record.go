package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hostshim/shim"
)

// record is the file that stands for a live session: <state>/sessions/<id>.json. A foreground launch locks it, and
// one that nobody locks is a session whose host was killed: the next host cleans up after it. The many of a long-lived
// host are served ones: its host.lock stands for them all, so only the next long-lived host can tell that they are lost.
type record struct {
	SessionID  string `json:"session_id"`
	Kind       string `json:"kind"`
	TemplateID string `json:"template_id"`
	Directory  string `json:"directory"`
	Sandbox    bool   `json:"sandbox"`
	Credential string `json:"credential"`
	Temp       string `json:"temp,omitempty"`
	Profile    string `json:"profile,omitempty"`
	Served     bool   `json:"served,omitempty"`

	path string
	file *os.File // nil: served, and a descriptor less in each new process
}

// claim takes the session id: of two launches with one id exactly one gets the lock.
func (h *Host) claim(p *plan, profile string) (*record, error) {
	dir, err := h.Places.stateDir("sessions")
	if err != nil {
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	r := &record{SessionID: p.SessionID, Kind: p.Kind, TemplateID: p.TemplateID, Directory: p.Directory,
		Sandbox: p.Sandbox, Credential: p.credential, Temp: p.temp, Profile: profile, Served: h.served,
		path: filepath.Join(dir, p.SessionID+".json")}
	f, err := lockFile(r.path, os.O_RDWR|os.O_CREATE)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &Refusal{SessionExists, fmt.Sprintf("session %q is running", p.SessionID)}
	} else if err != nil {
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	r.file = f
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		if _, err := h.bury(f); err != nil {
			return nil, &Refusal{SessionExists, err.Error()}
		}
		return h.claim(p, profile)
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err != nil {
		r.release()
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	if r.Served {
		r.file = nil
		f.Close()
	}
	return r, nil
}

// leftovers is the record's second line: what is known only once the session has started, and may still run when
// the host was killed.
type leftovers struct {
	PairingID   string `json:"pairing_id,omitempty"`
	Shim        int    `json:"shim_pid"`
	ShimStart   string `json:"shim_start"`
	Target      int    `json:"target_pid"`
	TargetStart string `json:"target_start"`
}

// runs notes the processes of a session that has started, and its pairing. A number alone could be another's later.
func (r *record) runs(shim, target int, pairingID string) {
	s, err1 := processOf(shim)
	t, err2 := processOf(target)
	text, err := json.Marshal(leftovers{pairingID, shim, s.start, target, t.start})
	if errors.Join(err, err1, err2) != nil {
		return
	}
	f := r.file
	if f == nil {
		if f, err = os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0); err != nil {
			return
		}
		defer f.Close()
	}
	f.Write(append(text, '\n'))
}

// end kills what outlived a killed host. Its shim was told to end; a target may have ignored that.
func (l leftovers) end() {
	if t, err := processOf(l.Target); err == nil && l.Target > 1 && t.start == l.TargetStart {
		syscall.Kill(-l.Target, syscall.SIGKILL)
	}
	if s, err := processOf(l.Shim); err == nil && l.Shim > 1 && s.start == l.ShimStart {
		syscall.Kill(l.Shim, syscall.SIGKILL)
	}
}

// release ends the claim.
func (r *record) release() {
	os.Remove(r.path)
	if r.file != nil {
		r.file.Close()
	}
}

// lockFile opens and locks path. A file that was removed between the two is not the one that others will see.
func lockFile(path string, flags int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			return nil, err
		}
		held, err1 := f.Stat()
		seen, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, seen) {
			return f, nil
		}
		f.Close()
		if flags&os.O_CREATE == 0 {
			return nil, os.ErrNotExist
		}
	}
}

// Sweep cleans up after sessions whose host was killed, and returns their ids: profile and temporary folder are
// removed, and each leaves an audit row.
func (h *Host) Sweep() (lost []string) {
	dir := filepath.Join(h.Places.State, "sessions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !shim.ValidSessionID(id) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !h.served && isServed(path) {
			continue // without a lock, which could keep the long-lived host from it
		}
		f, err := lockFile(path, os.O_RDWR)
		if err != nil {
			continue // somebody's, or gone
		}
		if was, _ := h.bury(f); was {
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
// a session. It fails for a record that may be a living host's.
func (h *Host) bury(f *os.File) (was bool, err error) {
	defer f.Close()
	var r record
	lines := json.NewDecoder(f)
	unfinished := lines.Decode(&r)
	if r.Served && !h.served {
		return false, errors.New("a session of that id is, or was, the long-lived host's")
	}
	defer os.Remove(f.Name())
	if unfinished != nil {
		return false, nil // its host was killed before it had written anything else
	}
	var left leftovers
	if lines.Decode(&left) == nil {
		left.end()
	}
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
	return true, nil
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
