package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// How much of the log waits for a reader that does not read, and how long the end of the host waits for it.
const (
	maxQueued   = 1024 // lines
	flushWithin = time.Second
)

// NewLog makes the log of a long-lived host, on w. Whoever started the host may have stopped reading
// them; that must cost lines, not launches, so they are written by a goroutine of their own, and what finds its
// queue full is counted and dropped. Flush waits for what is queued, a second at most.
func NewLog(w io.Writer, level slog.Level, style LogStyle) (log *slog.Logger, flush func()) {
	q := &queue{lines: make(chan []byte, maxQueued), done: make(chan struct{})}
	lost := fmt.Sprintf(`{"time":%%q,"level":"WARN","msg":%q,"lost":%%d}`, lostLines)
	handler := slog.Handler(slog.NewJSONHandler(q, &slog.HandlerOptions{Level: level}))
	if style != JSONLines {
		handler = &people{queue: q, level: level, color: style == ColoredLines}
		lost = "%s warning: " + lostLines + "  lost=%d"
	}
	go q.write(w, lost+"\n")
	return slog.New(handler), q.flush
}

const lostLines = "log lines were lost, since nobody read them"

// LogStyle is for whom the log is.
type LogStyle int

// Styles of a log.
const (
	JSONLines    LogStyle = iota // for programs
	PlainLines                   // for people
	ColoredLines                 // for people whose terminal has colours
)

type queue struct {
	lines chan []byte // nil ends the writing
	done  chan struct{}
	lost  atomic.Int64
}

// Write takes one line, as package slog writes one at a time.
func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

func (q *queue) write(w io.Writer, lost string) {
	defer close(q.done)
	for line := range q.lines {
		if line == nil {
			return
		}
		w.Write(line)
		if n := q.lost.Swap(0); n > 0 {
			fmt.Fprintf(w, lost, timestamp(), n)
		}
	}
}

func (q *queue) flush() {
	late := time.NewTimer(flushWithin)
	defer late.Stop()
	select {
	case q.lines <- nil:
	case <-late.C:
		return
	}
	select {
	case <-q.done:
	case <-late.C:
	}
}
