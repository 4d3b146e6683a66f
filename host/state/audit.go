package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Events and outcomes of audit rows.
const (
	EventLaunch  = "session_launch"
	EventEnd     = "session_end"
	OutcomeOK    = "ok"
	OutcomeError = "error"  // it could not be done
	OutcomeDeny  = "denied" // it was not allowed
)

// Row is one audit row (H09): a launch, refused ones included, an end, or a pairing made or revoked. Session.Row makes it.
type Row struct {
	Time       string   `json:"ts"`      // RFC 3339, UTC
	Event      string   `json:"event"`   // session_launch, session_end, pairing_create, pairing_revoke
	Outcome    string   `json:"outcome"` // ok, error, denied
	SessionID  string   `json:"session_id"`
	Kind       string   `json:"kind"`
	TemplateID string   `json:"template_id"`
	Directory  string   `json:"directory"`
	Sandbox    bool     `json:"sandbox"`
	Credential string   `json:"credential"` // none, token, pairing; never its value
	PairingID  string   `json:"pairing_id,omitempty"`
	Program    string   `json:"program,omitempty"`     // its path, without arguments
	ExitStatus *int     `json:"exit_status,omitempty"` // of an end
	Duration   int64    `json:"duration_ms,omitempty"` // of an end
	Changed    []string `json:"changed,omitempty"`     // files that the session changed and that the user's tools run unasked (X17)
	Error      string   `json:"error"`
}

// Row makes an audit row of the session.
func (s Session) Row(event string) Row {
	return Row{Event: event, Outcome: OutcomeOK, SessionID: s.SessionID, Kind: s.Kind, TemplateID: s.TemplateID,
		Directory: s.Directory, Sandbox: s.Sandbox, Credential: s.Credential, Program: s.Program}
}

// AuditFile is where the rows are: one JSON object a line, only ever appended to.
func (p Places) AuditFile() string { return filepath.Join(p.State, "audit.jsonl") }

// rowWithin is how long a row waits for another host's. One that is half written looks like one that was cut off.
const rowWithin = 100 * time.Millisecond

// auditLog keeps the audit file open, so that a host that has no descriptor left still writes rows.
type auditLog struct {
	mu   sync.Mutex
	file *os.File
}

// open returns the audit file. One that was moved away is replaced. The caller has the lock.
func (a *auditLog) open(p Places) (*os.File, error) {
	if a.file != nil {
		held, err1 := a.file.Stat()
		seen, err2 := os.Stat(p.AuditFile())
		if err1 == nil && err2 == nil && os.SameFile(held, seen) {
			return a.file, nil
		}
		a.file.Close()
		a.file = nil
	}
	if _, err := p.Dir(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	f, err := os.OpenFile(p.AuditFile(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("audit: %s is not a regular file: move it away", p.AuditFile())
	}
	a.file = f
	return f, nil
}

// with calls use with the audit file.
func (p Places) withAudit(use func(*os.File) error) error {
	a := p.audit
	if a == nil {
		a = new(auditLog)
		defer func() {
			if a.file != nil {
				a.file.Close()
			}
		}()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := a.open(p)
	if err != nil {
		return err
	}
	return use(f)
}

// Append writes a row in one write, so that rows of several hosts never mix. A row that was made earlier keeps its time.
func (p Places) Append(row Row) error {
	if row.Time == "" {
		row.Time = time.Now().UTC().Format(time.RFC3339Nano)
	}
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return p.withAudit(func(f *os.File) error {
		if flock(f, time.Now().Add(rowWithin)) == nil {
			defer unlock(f)
			if cutOff(f) {
				line = append([]byte{'\n'}, line...)
			}
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		return nil
	})
}

// auditRoom is how much of the disk is kept for rows to come, in bytes.
const auditRoom = 64 << 10

// ReadyAudit says whether rows can be written: a launch that would go unrecorded is refused. It opens the file, takes room
// for the rows to come, and returns where they will begin.
func (p Places) ReadyAudit() (at int64, err error) {
	err = p.withAudit(func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		at = info.Size()
		if err := takeRoom(f, info, auditRoom); err != nil {
			return fmt.Errorf("audit: %s: no room for its row: %w", p.AuditFile(), err)
		}
		return nil
	})
	return at, err
}

// cutOff says whether f ends in a row without its end, as a full disk or a crash leaves it. The next row then starts a
// line of its own.
func cutOff(f *os.File) bool {
	var last [1]byte
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	n, _ := f.ReadAt(last[:], info.Size()-1)
	return n == 1 && last[0] != '\n'
}

// maxRow is the longest line that is read, in bytes: a directory's name can take six for each of its own.
const maxRow = 1 << 20

// ReadRows calls each for every audit row, with where its line begins, the line, and what that says. A line that is not a
// row, such as one cut off by a full disk or one of more than a megabyte, does not stop it: the first such line is named in
// the error. Empty lines are skipped: a host that could not wait for another's row takes it for one that was cut off.
func ReadRows(r io.Reader, each func(at int64, line []byte, row Row) error) error {
	var bad error
	n := 0
	err := readLines(r, maxRow, func(at int64, line []byte) error {
		n++
		row, is, err := parseRow(line)
		if is {
			return each(at, line, row)
		}
		if err != nil && bad == nil {
			bad = fmt.Errorf("audit row %d: %w", n, err)
		}
		return nil
	})
	return errors.Join(bad, err)
}

// parseRow reads a line, nil for one that is too long. An empty one is no row, and no fault.
func parseRow(line []byte) (row Row, is bool, err error) {
	switch {
	case line == nil:
		err = errors.New("too long")
	case len(line) > 0:
		err = json.Unmarshal(line, &row)
		is = err == nil
	}
	return row, is, err
}

// ReadRowsBack calls each for the rows in the first size bytes of an audit file, the last one first, until each wants no
// more. It reads no further than it must, and passes over what is no row.
func ReadRowsBack(r io.ReaderAt, size int64, each func(at int64, row Row) (more bool)) error {
	enough := errors.New("enough")
	err := readLinesBack(r, size, backBlock, maxRow, func(at int64, line []byte) error {
		if row, is, _ := parseRow(line); is && !each(at, row) {
			return enough
		}
		return nil
	})
	if err == enough {
		err = nil
	}
	return err
}

// LastRows returns where the last n rows that match begin, in the first size bytes of an audit file; those that there are,
// if fewer, and size for none.
func LastRows(r io.ReaderAt, size int64, n int, match func(Row) bool) (begin int64, err error) {
	begin = size
	err = ReadRowsBack(r, size, func(at int64, row Row) bool {
		if match(row) {
			begin, n = at, n-1
		}
		return n > 0
	})
	return begin, err
}
