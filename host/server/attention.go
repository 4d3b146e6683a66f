package server

import (
	"bytes"
	"strings"

	"hostshim/host/wire"
)

// tell adds an event about the session. The caller holds the lock, so events of one session stand in order.
func (s *session) tell(name string) {
	v := &s.shown
	e := wire.Event{SessionID: s.id, Kind: v.Kind, Name: beginning(v.Name), TemplateID: beginning(v.TemplateID), At: timestamp()}
	switch name {
	case wire.EventAttention:
		e.Cause = v.Attention
	case wire.EventEnd:
		e.ExitStatus, e.Signal, e.Reason = v.ExitStatus, v.Signal, v.Reason
	}
	s.events.add(name, e)
}

// beginning bounds what an event holds of a text that a client chose.
func beginning(text string) string { return strings.ToValidUTF8(text[:min(len(text), 128)], "") }

// raise notes that the session wants a person, once until it gets input: a target alone cannot flood the events.
func (s *session) raise(cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown.Attention != "" || s.shown.State == wire.StateEnded {
		return
	}
	s.shown.Attention = cause
	if s.shown.State == wire.StateRunning {
		s.tell(wire.EventAttention)
	}
}

// answered notes that somebody gave the session input.
func (s *session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Attention = ""
}

// askingOf looks for what wants a person, in the output of a kind of session; nil: nothing does.
func askingOf(kind string) func([]byte) string {
	switch kind {
	case wire.KindPty:
		return new(bells).find
	case wire.KindClaude:
		return new(turns).find
	}
	return nil
}

// bells reads what a program writes to a terminal, for a bell and for notifications.
type bells struct {
	in    byte   // 0: plain text; ESC: after one; else what began a string that the terminal interprets, such as ']'
	ended bool   // an ESC was in the string
	text  []byte // the beginning of the string
}

const (
	bel = 0x07
	esc = 0x1b
)

func (b *bells) find(p []byte) (cause string) {
	for len(p) > 0 {
		if b.in == 0 {
			at := bytes.IndexAny(p, "\x07\x1b")
			if at < 0 {
				return cause
			}
			p = p[at:]
		}
		if found := b.take(p[0]); found != "" {
			cause = found
		}
		p = p[1:]
	}
	return cause
}

func (b *bells) take(c byte) string {
	switch {
	case b.in == 0 && c == bel:
		return wire.CauseBell
	case b.in != 0 && b.in != esc:
		return b.takeString(c)
	case c == esc:
		b.in = esc
	case strings.IndexByte("]PX^_", c) >= 0:
		b.in, b.ended, b.text = c, false, b.text[:0]
	default:
		b.in = 0
	}
	return ""
}

func (b *bells) takeString(c byte) string {
	switch {
	case b.ended && c != '\\': // another sequence has cut the string short
		b.in, b.ended = esc, false
		return b.take(c)
	case b.ended || c == bel:
		notice := b.in == ']' && isNotice(string(b.text))
		if b.in = 0; notice {
			return wire.CauseNotice
		}
	case c == 0x18 || c == 0x1a: // cancelled
		b.in = 0
	case c == esc:
		b.ended = true
	case len(b.text) < len("777;"):
		b.text = append(b.text, c)
	}
	return ""
}

// isNotice knows the three ways in which terminals are asked for a notification by the beginning of the request; 9;4 shows
// how far something got.
func isNotice(text string) bool {
	return strings.HasPrefix(text, "9;") && !strings.HasPrefix(text, "9;4;") || strings.HasPrefix(text, "99;") || strings.HasPrefix(text, "777;")
}

// turns reads the lines of Claude Code, each a JSON object, for their type. That may stand anywhere in the line, which may
// be long, so it is read byte by byte.
type turns struct {
	depth           int
	quoted, escaped bool
	value, isType   bool   // of the outermost object: after a colon; after the name "type"
	text            []byte // the beginning of a string of that object
}

var turnCauses = map[string]string{"result": wire.CauseTurn, "control_request": wire.CauseQuestion}

func (l *turns) find(p []byte) (cause string) {
	for _, c := range p {
		if found := l.take(c); found != "" {
			cause = found
		}
	}
	return cause
}

func (l *turns) take(c byte) string {
	switch {
	case c == '\n':
		*l = turns{text: l.text[:0]}
	case l.quoted:
		return l.takeQuoted(c)
	case c == '"':
		l.quoted, l.text = true, l.text[:0]
	case c == '{' || c == '[':
		l.depth++
	case c == '}' || c == ']':
		l.depth--
	case l.depth == 1 && c == ':':
		l.value = true
	case l.depth == 1 && c == ',':
		l.value, l.isType = false, false
	}
	return ""
}

func (l *turns) takeQuoted(c byte) string {
	switch {
	case l.escaped:
		l.escaped = false
	case c == '\\':
		l.escaped = true
	case c == '"':
		if l.quoted = false; l.depth != 1 {
			return ""
		}
		if l.value && l.isType {
			return turnCauses[string(l.text)]
		}
		l.isType = !l.value && string(l.text) == "type"
		return ""
	}
	if l.depth == 1 && len(l.text) < 20 {
		l.text = append(l.text, c)
	}
	return ""
}
