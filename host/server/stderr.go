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
	// Enough of a line to find every secret that begins in the part which is shown: a line is redacted first,
	// and cut then, since half a secret would not be found.
	maxStderrBuffer = maxStderrLine + shim.MaxToken
)

// stderrLog takes a target's standard error apart into lines.
type stderrLog struct {
	log     *slog.Logger
	secrets []credential.Secret

	mu   sync.Mutex
	line []byte // begun, at most maxStderrBuffer of it
	seen int
	last []string
}

func (s *stderrLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		s.line = append(s.line, piece[:min(len(piece), maxStderrBuffer-len(s.line))]...)
		p = rest
		if whole {
			s.endLine()
		}
	}
	return n, nil
}

// end logs a last line that nobody ended.
func (s *stderrLog) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) > 0 {
		s.endLine()
	}
	s.line = nil
}

func (s *stderrLog) endLine() {
	line := s.line
	for _, secret := range s.secrets {
		line = secret.Redact(line)
	}
	text := printable(line[:min(len(line), maxStderrLine)])
	s.line = s.line[:0]
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

// printable keeps control characters of a target out of whatever shows its lines.
func printable(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, string(bytes.ToValidUTF8(line, []byte("?"))))
}

// discard is a log that nobody reads.
var discard = slog.New(slog.DiscardHandler)
