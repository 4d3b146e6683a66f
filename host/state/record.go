package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hostshim/host/wire"
)

// Session is what a record says of a session: enough to clean up after a host that was killed.
type Session struct {
	SessionID  string `json:"session_id"`
	Kind       string `json:"kind"`
	TemplateID string `json:"template_id"`
	Directory  string `json:"directory"`
	Sandbox    bool   `json:"sandbox"`
	Credential string `json:"credential"`
	Program    string `json:"program,omitempty"`
	Temp       string `json:"temp,omitempty"`
	Profile    string `json:"profile,omitempty"`
	Served     bool   `json:"served,omitempty"` // of a long-lived host
	Host       int    `json:"host_pid"`         // the host's process; its session is not lost while it lives
	HostStart  string `json:"host_start"`
	AuditAt    int64  `json:"audit_at"` // the session's audit rows are not before this place
}

// Record is the file that stands for a live session: <state>/sessions/<id>.json. A foreground launch keeps it locked. A
// long-lived host does not: its host.lock stands for all its records. A record that no host stands for belongs to a
// session whose host was killed, and the next host cleans up after it.
type Record struct {
	path string
	file *os.File // nil: a served session's, so that a thousand sessions cost no thousand descriptors
	owes bool     // it holds an audit row that could not be written
}

// claimWithin is how long a claim waits for a locked record: another host may hold it for a moment, to see whether its
// host was killed.
const claimWithin = 100 * time.Millisecond

// Claim takes the session id. Of two foreground launches with one id exactly one gets the lock. A long-lived host's
// registry ensures the same for its sessions, unless the file system treats two ids as one name.
func (p Places) Claim(s Session) (*Record, error) {
	failed := func(err error) error { return &wire.Error{Code: wire.SpawnFailed, Message: err.Error()} }
	running := &wire.Error{Code: wire.SessionExists, Message: fmt.Sprintf("session %q is running", s.SessionID)}
	dir, err := p.Dir("sessions")
	if err != nil {
		return nil, failed(err)
	}
	r := &Record{path: filepath.Join(dir, s.SessionID+".json")}
	r.file, err = lockFile(r.path, os.O_RDWR|os.O_CREATE, claimWithin)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, running
	} else if err != nil {
		return nil, failed(err)
	}
	if info, err := r.file.Stat(); err == nil && info.Size() > 0 {
		if old, err := readGrave(r.file); err == nil && !old.finished() && (old.session.Served || old.hostLives()) {
			r.file.Close()
			return nil, running
		}
		r.file.Close()
		p.bury([]string{r.path}, true) // a lost session of the same id
		if left, err := os.Stat(r.path); err == nil && left.Size() > 0 {
			return nil, failed(fmt.Errorf("%s: what an earlier session left cannot be cleaned up", r.path))
		}
		return p.Claim(s)
	}
	if s.AuditAt, err = p.ReadyAudit(); err == nil {
		err = r.begin(s)
	}
	if err != nil {
		r.Release()
		return nil, failed(err)
	}
	return r, nil
}

// begin writes the record's first line.
func (r *Record) begin(s Session) error {
	s.Host = os.Getpid()
	if own, err := ProcessOf(s.Host); err == nil {
		s.HostStart = own.Start
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err = r.file.Write(append(text, '\n')); err == nil && s.Served {
		r.file.Close()
		r.file = nil
	}
	return err
}

// leftovers is each further line of a record, of which the last counts: the processes of the session, which may still
// run after the host was killed. They are known only once the shim has started, and its target later still. At last it
// may be the audit row of the session's end, where that could not be written.
type leftovers struct {
	End         *Row   `json:"end,omitempty"`
	PairingID   string `json:"pairing_id,omitempty"`
	Shim        int    `json:"shim_pid"`
	ShimStart   string `json:"shim_start"`
	Target      int    `json:"target_pid"`
	TargetStart string `json:"target_start"`
}

// Runs notes the processes of a session, and its pairing. The target is 0 until it has started. A process number may be
// used again later, so the start time is noted beside it.
func (r *Record) Runs(shim, target int, pairingID string) {
	s, err := ProcessOf(shim)
	var t Process
	if target > 0 && err == nil {
		t, err = ProcessOf(target)
	}
	if err != nil {
		return // it has ended
	}
	r.add(leftovers{nil, pairingID, shim, s.Start, target, t.Start})
}

// Owe keeps an audit row that could not be written: whoever finds the record writes it.
func (r *Record) Owe(row Row) {
	row.Time = time.Now().UTC().Format(time.RFC3339Nano)
	r.add(leftovers{End: &row})
	r.owes = true
}

// add adds a line.
func (r *Record) add(l leftovers) {
	text, err := json.Marshal(l)
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

// Release ends the claim. A record that cannot be removed is emptied, so that nobody takes its session for a lost one.
func (r *Record) Release() {
	if !r.owes && os.Remove(r.path) != nil {
		os.Truncate(r.path, 0)
	}
	if r.file != nil {
		r.file.Close()
	}
}
