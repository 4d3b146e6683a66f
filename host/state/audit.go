package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// Row is one audit row (H09): a launch, refused ones included, an end, or a pairing made or revoked.
type Row struct {
	Time       string `json:"ts"`      // RFC 3339, UTC
	Event      string `json:"event"`   // session_launch, session_end, pairing_create, pairing_revoke
	Outcome    string `json:"outcome"` // ok, error, denied
	SessionID  string `json:"session_id"`
	Kind       string `json:"kind"`
	TemplateID string `json:"template_id"`
	Directory  string `json:"directory"`
	Sandbox    bool   `json:"sandbox"`
	Credential string `json:"credential"` // none, token, pairing; never its value
	PairingID  string `json:"pairing_id,omitempty"`
	Error      string `json:"error"`
}

// AuditFile is where the rows are: one JSON object a line, only ever appended to.
func (p Places) AuditFile() string { return filepath.Join(p.State, "audit.jsonl") }

// rowWithin is how long a row waits for another host's. One that is half written looks like one that was cut off.
const rowWithin = 100 * time.Millisecond

// Append writes a row in one write, so that rows of several hosts never mix.
func (p Places) Append(row Row) error {
	row.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	if _, err := p.Dir(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	f, err := os.OpenFile(p.AuditFile(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	if flock(f, time.Now().Add(rowWithin)) == nil && cutOff(f) {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
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

// ReadRows calls each for every audit row, with its line and with what that says. A line that is not a row, such as one
// cut off by a full disk, does not stop it: the first such line is named in the error. Empty lines are skipped: a host that
// could not wait for another's row takes it for one that was cut off.
func ReadRows(r io.Reader, each func(line []byte, row Row) error) (err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var row Row
		switch bad := json.Unmarshal(lines.Bytes(), &row); {
		case len(lines.Bytes()) == 0:
		case bad == nil:
			if err := each(lines.Bytes(), row); err != nil {
				return err
			}
		case err == nil:
			err = fmt.Errorf("audit row %d: %w", n, bad)
		}
	}
	return errors.Join(err, lines.Err())
}
