package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// record is the file that stands for a live session: <state>/sessions/<id>.json. A foreground launch locks it. The many
// of a long-lived host are served ones: its host.lock stands for them all. A record whose lock nobody has is a session
// whose host was killed: the next host cleans up after it.
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

// claimWithin is how long a claim waits for who has the record locked: that may be another host cleaning up, which took
// a new record for a killed host's.
const claimWithin = 100 * time.Millisecond

// claim takes the session id: of two foreground launches with one id exactly one gets the lock. In a long-lived host
// the registry has seen to that, as far as ids that differ are files that differ.
func (h *Host) claim(p *plan, profile string) (*record, error) {
	dir, err := h.Places.stateDir("sessions")
	if err != nil {
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	r := &record{SessionID: p.SessionID, Kind: p.Kind, TemplateID: p.TemplateID, Directory: p.Directory,
		Sandbox: p.Sandbox, Credential: p.credential, Temp: p.temp, Profile: profile, Served: h.served,
		path: filepath.Join(dir, p.SessionID+".json")}
	running := &Refusal{SessionExists, fmt.Sprintf("session %q is running", p.SessionID)}
	f, err := lockFile(r.path, os.O_RDWR|os.O_CREATE, claimWithin)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, running
	} else if err != nil {
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	r.file = f
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		if isServed(r.path) {
			f.Close()
			return nil, running
		}
		h.bury(f, false) // a lost session of the same id
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

// leftovers is each further line of the record, of which the last counts: what is known only once the shim has
// started, and then its target, and may still run when the host was killed.
type leftovers struct {
	PairingID   string `json:"pairing_id,omitempty"`
	Shim        int    `json:"shim_pid"`
	ShimStart   string `json:"shim_start"`
	Target      int    `json:"target_pid"`
	TargetStart string `json:"target_start"`
}

// runs notes the processes of a session, of which there is no target (0) at first, and its pairing. A number alone
// could be another's later.
func (r *record) runs(shim, target int, pairingID string) {
	s, err := processOf(shim)
	var t process
	if target > 0 && err == nil {
		t, err = processOf(target)
	}
	if err != nil {
		return // it has ended
	}
	text, err := json.Marshal(leftovers{pairingID, shim, s.start, target, t.start})
	if err != nil {
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

// end kills what outlived a killed host. Its shim was told to end; a target may have ignored that. One that is not
// known goes with its shim (Linux).
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

// lockFile opens and locks path, which may take that long; EWOULDBLOCK: somebody else has it locked. A file that was
// removed between the two is not the one that others will see.
func lockFile(path string, flags int, within time.Duration) (*os.File, error) {
	late := time.Now().Add(within)
	for {
		f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f, late); err != nil {
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

// flock locks f, or says EWOULDBLOCK when it is late.
func flock(f *os.File, late time.Time) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK || !time.Now().Before(late) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
