package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"hostshim/host/client"
	"hostshim/host/state"
	"hostshim/host/wire"
)

// rowFilter says which rows of a file are wanted. The zero value wants all.
type rowFilter struct {
	last    int // 0: all
	since   time.Time
	session string // as the person named it
	asJSON  bool
}

// rowFlags adds the flags of the commands that list rows.
func (f *flags) rowFlags() *rowFilter {
	var want rowFilter
	f.BoolVar(&want.asJSON, "json", false, "print the rows as they are, one JSON object a line")
	f.StringVar(&want.session, "session", "", "`SESSION` whose rows are wanted: its id, its beginning, or the name of one that runs")
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
	return &want
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

// recent says whether a row of that time is wanted.
func (want *rowFilter) recent(text string) bool {
	if want.since.IsZero() {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && !t.Before(want.since)
}

// sessionOf is the id of the session that a person named: one of the audit rows, or one that runs. The audit rows have no
// names.
func (f *flags) sessionOf(p state.Places, word string) (string, error) {
	const most = 10
	unknown := &wire.Error{Code: wire.SessionUnknown, Message: fmt.Sprintf("no session %q", word)}
	var begin []string
	exact := false
	err := withAudit(p, func(rows *io.SectionReader) error {
		return state.ReadRowsBack(rows, rows.Size(), func(_ int64, r state.Row) bool {
			exact = exact || r.SessionID == word && word != ""
			if strings.HasPrefix(r.SessionID, word) && len(begin) <= most && !slices.Contains(begin, r.SessionID) {
				begin = append(begin, r.SessionID)
			}
			return !exact
		})
	})
	switch {
	case exact:
		return word, nil
	case word == "":
		return "", unknown
	}
	id, deaf := f.runningSession(word)
	if id != "" {
		return id, nil
	}
	switch len(begin) {
	case 0:
		return "", cmp.Or(deaf, errors.Join(unknown, err))
	case 1:
		return begin[0], nil
	}
	if len(begin) > most {
		begin[most] = "…"
	}
	return "", fmt.Errorf("several sessions begin with %q: %s", word, strings.Join(begin, ", "))
}

// runningSession is the id of the session that a running host knows by word; "": it knows none. An error is that a host is
// there which may know one, and does not answer.
func (f *flags) runningSession(word string) (id string, err error) {
	c, err := f.client()
	if err != nil {
		return "", nil
	}
	v, err := c.Find(word)
	if errors.As(err, new(*client.NoHost)) || errors.As(err, new(*wire.Error)) {
		err = nil
	}
	return v.SessionID, err
}

// jsonLine prints a row as it is, but for characters that a terminal may obey: JSON allows some of them in a text.
func jsonLine(out io.Writer, line []byte) error {
	odd := func(c rune) bool { return c >= unicode.MaxASCII && !unicode.IsPrint(c) }
	if bytes.ContainsFunc(line, odd) {
		var b bytes.Buffer
		for _, c := range string(line) {
			if !odd(c) {
				b.WriteRune(c)
				continue
			}
			for _, half := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&b, `\u%04x`, half)
			}
		}
		line = b.Bytes()
	}
	_, err := fmt.Fprintf(out, "%s\n", line)
	return err
}
