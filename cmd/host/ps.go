package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"hostshim/host/wire"
)

func ps(args []string) int {
	f := newFlags("ps")
	all := f.Bool("a", false, "also those that have ended")
	asJSON := f.Bool("json", false, "print one JSON object a line")
	c, code, ok := f.connect(args, 0)
	if !ok {
		return code
	}
	sessions, err := c.Sessions()
	if err != nil {
		return fail(err)
	}
	out, done := buffered()
	t, now := newTable(out, column{title: "SESSION", id: true}, column{title: "AGE"}, column{title: "STATE", least: 7},
		column{title: "REQ"}, column{title: "NAME", least: 4}, column{title: "TEMPLATE", least: 8}, column{title: "DIRECTORY", least: 9}), time.Now()
	for _, s := range sessions {
		switch {
		case s.State == wire.StateEnded && !*all:
		case *asJSON:
			err = printLine(out, s)
		default:
			err = t.add(s.SessionID, age(s.CreatedAt, now), sessionState(s), requestsCell(s.Requests), s.Name, s.TemplateID, s.Directory)
		}
		if err != nil {
			return done(err)
		}
	}
	return done(t.end(!*asJSON))
}

// printLine prints v as JSON on one line, with no character that a terminal obeys.
func printLine(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return jsonLine(out, text)
}

// requestsCell is how many requests a session's pairing has sent on.
func requestsCell(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// sessionState is a session's state, and how it ended.
func sessionState(s wire.Session) string {
	switch {
	case s.State != wire.StateEnded:
		return s.State
	case s.Signal != 0:
		return fmt.Sprintf("%s (signal %d)", s.Reason, s.Signal)
	}
	return fmt.Sprintf("%s (%d)", s.Reason, exitStatus(s))
}
