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
}

// record runs serve with l and writes the line when serve is over, whichever way: an early return,
// http.ErrAbortHandler and any other panic included. Nothing else writes a line, and nothing that serve can
// call does, so a line is neither forgotten nor written twice. The proxy's end waits for it.
func record[T any](p *Proxy, l *line, serve func(T), with T) {
	p.running(1)
	defer p.running(-1)
	start := time.Now()
	l.outcome = outcomeAborted // what remains when serve says nothing
	defer func() { write(p.log, l, time.Since(start)) }()
	serve(with)
}

func write(log *slog.Logger, l *line, took time.Duration) {
	log.LogAttrs(context.Background(), slog.LevelInfo, logMessage,
		slog.String("session", l.session),
		slog.String("client_id", l.clientID),
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

// hidePairings replaces whatever could be a pairing: a program that puts its own, or the device pairing, into a
// path by mistake must not publish it here, even where the request is refused before anybody looked it up.
// No path of the providers has a run of characters that long.
func hidePairings(s string) string {
	if len(s) < pairingLen {
		return s
	}
	decoded, hidden, start := unescapeGood(s), false, 0
	var out strings.Builder
	for i := 0; i <= len(decoded); i++ {
		if i < len(decoded) && pairingChar(decoded[i]) {
			continue
		}
		if i-start >= pairingLen {
			out.WriteString("[hidden]")
			hidden = true
		} else {
			out.WriteString(decoded[start:i])
		}
		if i < len(decoded) {
			out.WriteByte(decoded[i])
		}
		start = i + 1
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

// canceled notes that the client was gone before the response's header.
func (l *line) canceled() {
	l.status, l.code, l.outcome = 0, "", outcomeCanceled
}
