package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"hostshim/host/credential"
	"hostshim/shim"
)

// What becomes of the lines that a piped target writes to its standard error.
const (
	maxStderrLine = 1024 // of a line, in bytes, after secrets are taken out
	loudLines     = 20   // logged as warnings; later ones for who debugs
	keptLines     = 10   // kept for a crash report
	fewCharacters = 2    // lines of so few are logged as one, or a secret could be spelled out in them
	// A line is redacted first and cut then, since half a secret would not be found. So this much of it is kept.
	maxStderrBuffer = maxStderrLine + 2*shim.MaxToken
)

// stderrLog takes a target's standard error apart into lines.
type stderrLog struct {
	log     *slog.Logger
	secrets []credential.Secret

	mu     sync.Mutex
	line   []byte // begun, at most maxStderrBuffer of it, without control characters
	begin  int    // of what line holds, where the line itself begins: short ones before it wait for the next
	broken bool   // something did not fit
	escape byte   // the last character of a terminal's control sequence that is not over; 0: none
	seen   int
	last   []string
}

func (s *stderrLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p {
		switch {
		case c == '\n':
			s.endLine()
		case s.isControl(c):
		case len(s.line) < maxStderrBuffer:
			s.line = append(s.line, c)
		default:
			s.broken = true
		}
	}
	return len(p), nil
}

// isControl says whether c is a control character, or part of the control sequence that one began (ESC [ 3 1 m).
func (s *stderrLog) isControl(c byte) bool {
	before := s.escape
	s.escape = 0
	switch {
	case c == 0x1b, before == 0x1b && c == '[', before == '[' && c >= ' ' && c < '@':
		if s.escape = c; before == '[' {
			s.escape = '['
		}
		return true
	case before == '[' && c >= '@' && c < 0x7f:
		return true
	}
	return c < ' ' && c != '\t' || c == 0x7f
}

// end logs a last line that nobody ended.
func (s *stderrLog) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) > 0 {
		s.logLine()
	}
	s.line = nil
}

// endLine ends a line. A very short one waits for what follows.
func (s *stderrLog) endLine() {
	s.escape = 0
	few := len(bytes.TrimSpace(s.line[s.begin:])) <= fewCharacters
	if few && len(s.line) > 0 && len(s.line) < maxStderrBuffer {
		s.line = append(s.line, ' ')
		s.begin = len(s.line)
		return
	}
	s.logLine()
}

// logLine logs what line holds.
func (s *stderrLog) logLine() {
	line := s.line
	for _, secret := range s.secrets {
		line = secret.Redact(line, s.broken)
	}
	text := strings.TrimRight(printable(line[:min(len(line), maxStderrLine)]), " ")
	s.line, s.begin, s.broken = s.line[:0], 0, false
	level := slog.LevelDebug
	if s.seen++; s.seen <= loudLines {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "stderr", "line", text)
	if s.last = append(s.last, text); len(s.last) > keptLines {
		s.last = s.last[1:]
	}
}

// tail is the last lines, oldest first.
func (s *stderrLog) tail() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.last...)
}

// printable keeps what is no text, and the control characters beyond ASCII, out of whatever shows a target's lines.
func printable(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, string(bytes.ToValidUTF8(line, []byte("?"))))
}

// discard is a log that nobody reads.
var discard = slog.New(slog.DiscardHandler)
