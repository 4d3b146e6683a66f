package llmproxy

import (
	"context"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

const logMessage = "LLM proxy sandbox request"

// How a request ended (P12).
const (
	outcomeComplete = "complete"
	outcomeCanceled = "canceled" // the client left before the answer's header
	outcomeAborted  = "aborted"  // either side broke off in the answer's body
)

// What a client can write into the log is bounded.
const (
	maxLogMethod = 32
	maxLogPath   = 1024
)

// line collects what a request's log line says. Only record writes it.
type line struct {
	method, path      string
	session, clientID string
	status            int
	code              string
	in, out           int64 // bytes of the bodies
	outcome           string

	egress bool   // the line is one of egress: host and port take the place of method and path (N04)
	host   string // as asked for, where it is none
	port   int
}

// record runs serve and then writes the line l, however serve ends: it may return early, or panic with
// http.ErrAbortHandler or anything else. Nothing else writes a line, so none is lost or written twice. Close waits for
// it. The argument is passed on so that no caller needs a closure, which would allocate.
func record[T any](p *Proxy, l *line, serve func(T), with T) {
	p.addServing(1)
	defer p.addServing(-1)
	start := time.Now()
	l.outcome = outcomeAborted // unless serve says otherwise
	defer func() { write(p.config.Log, l, time.Since(start)) }()
	serve(with)
}

func write(log *slog.Logger, l *line, took time.Duration) {
	if l.egress {
		l.writeEgress(log, took)
		return
	}
	service := slog.Attr{} // which is left out
	if id, _ := serviceOf(l.path); id != "" {
		service = slog.String("service", id)
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, logMessage,
		slog.String("session", l.session),
		slog.String("client_id", l.clientID),
		service,
		slog.String("method", cut(hidePairings(l.method), maxLogMethod)),
		slog.String("path", cut(hidePairings(l.path), maxLogPath)),
		slog.Int("status", l.status),
		slog.String("code", l.code),
		slog.Int64("bytes_in", l.in),
		slog.Int64("bytes_out", l.out),
		slog.Int64("duration_ms", took.Milliseconds()),
		slog.String("outcome", l.outcome),
	)
}

// hidePairings replaces whatever could be a pairing. A program may put one into a path by mistake, and the request may
// be refused before anybody looks it up. No provider's path has a run of that many such characters.
func hidePairings(s string) string {
	if len(s) < secretLen {
		return s
	}
	decoded, hidden := unescapeGood(s), false
	var out strings.Builder
	for decoded != "" {
		run := len(decoded) - len(strings.TrimLeftFunc(decoded, func(c rune) bool { return c < utf8.RuneSelf && secretChar(byte(c)) }))
		if run >= secretLen {
			out.WriteString("[hidden]")
			hidden = true
		} else {
			out.WriteString(decoded[:run])
		}
		if decoded = decoded[run:]; decoded != "" {
			out.WriteByte(decoded[0])
			decoded = decoded[1:]
		}
	}
	if !hidden {
		return s // as sent
	}
	return out.String()
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}

// answered notes an answer of the proxy's own.
func (l *line) answered(no *refusal) {
	l.status, l.code, l.outcome = no.status, no.code, outcomeComplete
}

// canceled notes that the client left before the answer's header.
func (l *line) canceled() {
	l.status, l.code, l.outcome = 0, "", outcomeCanceled
}
