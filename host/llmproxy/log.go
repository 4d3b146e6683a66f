package llmproxy

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

const logMessage = "LLM proxy sandbox request"

// How a request ended (P12).
const (
	outcomeComplete = "complete"
	outcomeCanceled = "canceled" // the client was gone before the response's header
	outcomeAborted  = "aborted"  // broken off in the middle of the body, by whichever side
)

// Bounds of what a client can write into a log.
const (
	maxLogMethod = 32
	maxLogPath   = 1024
)

// line gathers what a request's log line says. Only record writes it.
type line struct {
	method, path      string
	session, clientID string
	status            int
	code              string
	in, out           int64 // bytes of the bodies
	outcome           string
	hidden            string // the pairing, should it stand in the path
}

// record runs serve with l and writes the line when serve is over, whichever way: an early return,
// http.ErrAbortHandler and any other panic included. Nothing else writes a line, and nothing that serve can
// call does, so a line is neither forgotten nor written twice.
func record[T any](log *slog.Logger, l *line, serve func(T), with T) {
	start := time.Now()
	l.outcome = outcomeAborted // what remains when serve says nothing
	defer func() { write(log, l, time.Since(start)) }()
	serve(with)
}

func write(log *slog.Logger, l *line, took time.Duration) {
	path := l.path
	if l.hidden != "" {
		path = strings.ReplaceAll(unescapeGood(path), l.hidden, "[pairing]")
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, logMessage,
		slog.String("session", l.session),
		slog.String("client_id", l.clientID),
		slog.String("method", cut(l.method, maxLogMethod)),
		slog.String("path", cut(path, maxLogPath)),
		slog.Int("status", l.status),
		slog.String("code", l.code),
		slog.Int64("bytes_in", l.in),
		slog.Int64("bytes_out", l.out),
		slog.Int64("duration_ms", took.Milliseconds()),
		slog.String("outcome", l.outcome),
	)
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

// canceled notes that the client was gone before the response's header.
func (l *line) canceled() {
	l.status, l.code, l.outcome = 0, "", outcomeCanceled
}
