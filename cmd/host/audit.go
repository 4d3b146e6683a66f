package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"hostshim/host/state"
)

func audit(args []string) int {
	f := newFlags("audit")
	want := f.rowFlags()
	f.bearerFlag()
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	id := ""
	if f.given("session") {
		if id, err = f.sessionOf(places, want.session); err != nil {
			return fail(err)
		}
	}
	out, done := buffered()
	t, now := auditTable(out), time.Now()
	match := func(r state.Row) bool { return (id == "" || r.SessionID == id) && want.recent(r.Time) }
	bad := withAudit(places, func(rows *io.SectionReader) error {
		if want.last > 0 {
			// No row ends the search by being old: a clock that was set may have put it before younger ones.
			begin, err := state.LastRows(rows, rows.Size(), want.last, match)
			if err != nil {
				return err
			}
			rows = io.NewSectionReader(rows, begin, rows.Size()-begin)
		}
		return state.ReadRows(rows, func(_ int64, line []byte, r state.Row) error {
			switch {
			case !match(r):
				return nil
			case want.asJSON:
				return jsonLine(out, line)
			}
			return t.add(auditCells(r, now)...)
		})
	})
	return done(errors.Join(t.end(false), bad))
}

// withAudit calls use with the audit file as long as it is now; not without one.
func withAudit(p state.Places, use func(*io.SectionReader) error) error {
	file, err := os.Open(p.AuditFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return use(io.NewSectionReader(file, 0, info.Size()))
}

// readAudit calls each for every audit row.
func readAudit(p state.Places, each func(r state.Row) error) error {
	return withAudit(p, func(rows *io.SectionReader) error {
		return state.ReadRows(rows, func(_ int64, _ []byte, r state.Row) error { return each(r) })
	})
}

func auditTable(out io.Writer) *table {
	return newTable(out, column{title: "AGE"}, column{title: "SESSION", id: true}, column{title: "EVENT"}, column{title: "RESULT"},
		column{title: "TOOK"}, column{title: "TEMPLATE", least: 8}, column{title: "CRED", least: 5}, column{title: "DETAIL", least: 8})
}

// auditEvents are the events in the words of the table.
var auditEvents = strings.NewReplacer("session_", "", "pairing_create", "pairing", "pairing_revoke", "revoked")

// auditCells are a row's: the exit status of an end, the reason of what came to nothing, else the directory.
func auditCells(r state.Row, now time.Time) []string {
	result, took, detail := r.Outcome, "", r.Directory
	if r.ExitStatus != nil && r.Outcome == state.OutcomeOK {
		result = "exit " + strconv.Itoa(*r.ExitStatus)
	}
	if r.Duration > 0 {
		took = seconds(r.Duration)
	}
	switch {
	case r.Error != "":
		detail = r.Error
	case len(r.Changed) > 0:
		detail = "changed " + strings.Join(r.Changed, ", ")
	}
	credential := r.Credential
	if r.SessionID == "" {
		credential = r.PairingID
	}
	return []string{age(r.Time, now), r.SessionID, auditEvents.Replace(r.Event), result, took, r.TemplateID, credential, detail}
}

// seconds is a time of so many milliseconds, for people.
func seconds(ms int64) string {
	if ms < 100_000 {
		return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + "s"
	}
	return roughly(time.Duration(ms) * time.Millisecond)
}
