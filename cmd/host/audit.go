package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"hostshim/host/state"
)

// auditFilter says which rows are wanted. The zero value wants all.
type auditFilter struct {
	last    int // 0: all
	since   time.Time
	session string
}

func audit(args []string) int {
	f := newFlags("audit")
	var want auditFilter
	asJSON := f.Bool("json", false, "print the rows as they are, one JSON object a line")
	f.StringVar(&want.session, "session", "", "`ID` whose rows are wanted")
	f.Func("n", "`N`: only the last N rows", func(text string) (err error) {
		if want.last, err = strconv.Atoi(text); err != nil || want.last < 1 {
			return errors.New("want a number from 1 on")
		}
		return nil
	})
	f.Func("since", "`TIME`: only rows from then on: 2h, 2026-01-31, or 2026-01-31T12:00:00Z", func(text string) (err error) {
		want.since, err = parseSince(text, time.Now())
		return err
	})
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	file, err := os.Open(places.AuditFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0
	} else if err != nil {
		return fail(err)
	}
	defer file.Close()
	out := bufio.NewWriter(os.Stdout)
	p := rowPrinter(&auditTable{table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)})
	if *asJSON {
		p = jsonRows{out}
	}
	bad := want.print(file, p)
	if err := errors.Join(p.end(), out.Flush(), bad); err != nil {
		return fail(err)
	}
	return 0
}

// parseSince reads a moment, or how long ago it was.
func parseSince(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a duration, a date or an RFC 3339 time")
}

func (a auditFilter) matches(r state.Row) bool {
	if a.session != "" && r.SessionID != a.session {
		return false
	}
	if a.since.IsZero() {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, r.Time)
	return err == nil && !t.Before(a.since)
}

// print prints the rows that are wanted. It reads the file twice for the last ones, so that it needs no more memory for
// a large file than for a small one.
func (a auditFilter) print(file io.ReadSeeker, p rowPrinter) error {
	skip := 0
	if a.last > 0 {
		found := 0
		state.ReadRows(file, func(_ int64, _ []byte, r state.Row) error {
			if a.matches(r) {
				found++
			}
			return nil
		})
		skip = max(0, found-a.last)
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return state.ReadRows(file, func(_ int64, line []byte, r state.Row) error {
		if !a.matches(r) {
			return nil
		}
		if skip--; skip >= 0 {
			return nil
		}
		return p.row(line, r)
	})
}

type rowPrinter interface {
	row(line []byte, r state.Row) error
	end() error
}

type jsonRows struct{ io.Writer }

func (j jsonRows) row(line []byte, _ state.Row) error {
	_, err := fmt.Fprintf(j, "%s\n", line)
	return err
}

func (jsonRows) end() error { return nil }

// auditTable lines rows up, some at a time.
type auditTable struct {
	table *tabwriter.Writer
	rows  int
}

const tableRows = 500

func (t *auditTable) row(_ []byte, r state.Row) error {
	if t.rows == 0 {
		fmt.Fprintln(t.table, "TIME\tEVENT\tOUTCOME\tSESSION\tKIND\tTEMPLATE\tCREDENTIAL\tEXIT\tSECONDS\tDIRECTORY\tPROGRAM\tERROR")
	}
	exit, seconds := "-", "-"
	if r.ExitStatus != nil {
		exit = strconv.Itoa(*r.ExitStatus)
	}
	if r.Duration > 0 {
		seconds = strconv.FormatFloat(float64(r.Duration)/1000, 'f', 3, 64)
	}
	cells := []string{fmt.Sprintf("%.19s", r.Time), r.Event, r.Outcome, r.SessionID, r.Kind, r.TemplateID,
		credentialCell(r.Credential, r.PairingID), exit, seconds, r.Directory, r.Program, r.Error}
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	_, err := fmt.Fprintln(t.table, strings.Join(cells, "\t"))
	if t.rows++; t.rows%tableRows == 0 {
		err = errors.Join(err, t.table.Flush())
	}
	return err
}

func (t *auditTable) end() error { return t.table.Flush() }

// plain is text that stays in its column: whoever asked for a launch chose some of it, and must not write to the
// terminal of who reads the rows.
func plain(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return cmp.Or(text, "-")
}
