package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostshim/host/state"
)

const requestsMore = `
One line a request of a session to the model or a service, refused ones included, and one a connection to another host
where a template opens some. Those of a running host are among them.
`

// requestRow is a line of the model proxy's, of a request (P12) or of a connection to another host (N04).
type requestRow struct {
	Time     string `json:"time"`
	Level    string `json:"level"`
	Message  string `json:"msg"`
	Session  string `json:"session"` // the pairing's id
	ClientID string `json:"client_id"`
	Service  string `json:"service"` // "": the model
	Method   string `json:"method"`
	Path     string `json:"path"`
	Host     string `json:"host"`
	Port     any    `json:"port"`
	Status   int    `json:"status"`
	Code     string `json:"code"`
	Out      int64  `json:"bytes_out"`
	Took     int64  `json:"duration_ms"`
	Outcome  string `json:"outcome"`
}

func requests(args []string) int {
	f := newFlags("requests")
	f.more = requestsMore
	want := f.rowFlags()
	f.bearerFlag()
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	var of []string // session and pairings, where only those of one session are wanted
	if f.given("session") {
		if of, err = f.requestsOf(places, want.session); err != nil {
			return fail(err)
		}
	}
	out, done := buffered()
	t, now := newTable(out, column{title: "AGE"}, column{title: "PAIRING", id: true}, column{title: "TEMPLATE", least: 8},
		column{title: "RESULT", least: 12}, column{title: "BYTES"}, column{title: "TOOK"}, column{title: "REQUEST", least: 12}), time.Now()
	match := func(r requestRow) bool {
		return (of == nil || slices.Contains(of, r.Session)) && want.recent(r.Time)
	}
	bad := readRequests(places, want.last, match, func(line []byte, r requestRow) error {
		if want.asJSON {
			return jsonLine(out, line)
		}
		return t.add(r.cells(now)...)
	})
	return done(errors.Join(t.end(false), bad))
}

// readRequests calls show for the lines that match, older ones first; with last, only for so many of the last. It then
// reads the files, which are never large, twice, so that it needs no more memory. A line that is none, cut off by a full
// disk say, is left out.
func readRequests(p state.Places, last int, match func(requestRow) bool, show func(line []byte, r requestRow) error) error {
	read := func(each func(line []byte, r requestRow) error) error {
		return p.ReadRequests(func(line []byte) error {
			var r requestRow
			if json.Unmarshal(line, &r) != nil || !match(r) {
				return nil
			}
			return each(line, r)
		})
	}
	skip := 0
	if last > 0 {
		read(func([]byte, requestRow) error {
			skip++
			return nil
		})
		skip = max(0, skip-last)
	}
	return read(func(line []byte, r requestRow) error {
		if skip--; skip >= 0 {
			return nil
		}
		return show(line, r)
	})
}

// requestsOf are the ids under which a session's requests are logged: those of its pairings, or a pairing's own.
func (f *flags) requestsOf(p state.Places, word string) ([]string, error) {
	if pairingID(word) {
		return []string{word}, nil
	}
	id, err := f.sessionOf(p, word)
	if err != nil {
		return nil, err
	}
	of := []string{id}
	err = readAudit(p, func(r state.Row) error {
		if r.SessionID == id && r.PairingID != "" && !slices.Contains(of, r.PairingID) {
			of = append(of, r.PairingID)
		}
		return nil
	})
	return of, err
}

func (r requestRow) cells(now time.Time) []string {
	result := "-"
	if r.Status != 0 {
		result = strconv.Itoa(r.Status)
	}
	switch {
	case r.Code != "":
		result += " " + r.Code
	case r.Outcome != "complete":
		result += " " + r.Outcome
	}
	what := r.Method + " " + strings.TrimPrefix(r.Path, "/sandbox")
	if rest, ok := strings.CutPrefix(r.Path, "/service/"+r.Service); ok && r.Service != "" {
		what = r.Method + " " + r.Service + ":" + rest
	}
	if r.Host != "" {
		what = "out to " + r.Host + ":" + portText(r.Port)
	} else if r.Method == "" {
		what, result = r.Message, r.Level // the proxy's own trouble
	}
	return []string{age(r.Time, now), r.Session, r.ClientID, result, size(r.Out), seconds(r.Took), what}
}

func portText(port any) string {
	text, _ := json.Marshal(port)
	if unquoted, err := strconv.Unquote(string(text)); err == nil {
		return unquoted
	}
	return string(text)
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 10_000_000:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n/1_000_000, 10) + "M"
}
