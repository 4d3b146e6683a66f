package server

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// people writes the log for somebody who watches a terminal: a time, what happened, and NAME=VALUE for the rest. What
// steers a terminal is quoted.
type people struct {
	queue  *queue
	level  slog.Level
	color  bool
	before string // of WithAttrs
}

func (p *people) Enabled(_ context.Context, level slog.Level) bool { return level >= p.level }

func (p *people) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Time.Local().Format(time.TimeOnly) + " ")
	word, color := "", ""
	switch {
	case r.Level >= slog.LevelError:
		word, color = "error: ", "\x1b[31m"
	case r.Level >= slog.LevelWarn:
		word, color = "warning: ", "\x1b[33m"
	}
	if p.color && color != "" {
		word = color + word + "\x1b[m"
	}
	b.WriteString(word + shownValue(r.Message, "") + p.before)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(pair(a))
		return true
	})
	b.WriteByte('\n')
	p.queue.Write(b.Bytes())
	return nil
}

func (p *people) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *p
	for _, a := range attrs {
		with.before += pair(a)
	}
	return &with
}

// WithGroup: the host's log has no groups.
func (p *people) WithGroup(string) slog.Handler { return p }

func pair(a slog.Attr) string {
	return "  " + a.Key + "=" + shownValue(a.Value.String(), ` ="`)
}

// shownValue is text that stays one value: quoted where it holds one of odd, or what is not printed.
func shownValue(text, odd string) string {
	if text == "" || strings.ContainsAny(text, odd) || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return text
}
