package server

import (
	"strings"
	"testing"

	"hostshim/host/wire"
)

// What wants a person is found however the output is cut into pieces.
func TestH07Attention(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{wire.KindPty, "plain \x1b[1mbold\x1b[m text", ""},
		{wire.KindPty, "rings\a", wire.CauseBell},
		{wire.KindPty, "\x1b]0;title\a", ""},
		{wire.KindPty, "\x1b]0;title\x1b\\", ""},
		{wire.KindPty, "\x1b]0;title\x1b\\\a", wire.CauseBell},
		{wire.KindPty, "\x1b]0;cut short\x1b[1m\a", wire.CauseBell},
		{wire.KindPty, "\x1b]0;cut short\x1b\x1b[1m\a", wire.CauseBell},
		{wire.KindPty, "\x1b]0;cancelled\x18\a", wire.CauseBell},
		{wire.KindPty, "\x1bP1;2q\a", ""}, // a picture
		{wire.KindPty, "\x1b]9;done\a", wire.CauseNotice},
		{wire.KindPty, "\x1b]9;done\x1b\\", wire.CauseNotice},
		{wire.KindPty, "\x1b]9;4;1;50\a", ""}, // how far it got
		{wire.KindPty, "\x1b]99;i=1:d=0;done\x1b\\", wire.CauseNotice},
		{wire.KindPty, "\x1b]777;notify;a;b\a", wire.CauseNotice},
		{wire.KindPty, "\x1b]7;file://x\a", ""},
		{wire.KindPty, "\x1bP9;x\a", ""},
		{wire.KindPty, "\x1b\x1b\x1b]9;x\a", wire.CauseNotice},
		{wire.KindClaude, `{"type":"assistant","x":"{\"type\":\"result\""}` + "\n", ""},
		{wire.KindClaude, `{"type":"result","subtype":"success"}`, wire.CauseTurn},
		{wire.KindClaude, "\n\n" + `{"type":"system"}` + "\n" + `{"type":"control_request","request":{}}` + "\n", wire.CauseQuestion},
		{wire.KindClaude, `{"type":"results"}` + "\n" + `{"type":"result"`, wire.CauseTurn},
		{wire.KindClaude, `{"usage":{"type":"no","a":[1,2]},"n":-1.5, "x":"a\"b\\", "type" : "result","z":1}`, wire.CauseTurn},
		{wire.KindClaude, `{"message":{"type":"result"},"a":["type","result"],"b":"type","result":"result","type":"assistant"}`, ""},
		{wire.KindClaude, `{"x":"type\":\"result","type2":"result"}`, ""},
		{wire.KindClaude, `broken "{[ ` + "\n" + `{"type":"result"}`, wire.CauseTurn},
		{wire.KindClaude, "\a", ""},
		{wire.KindPi, "\a{\"type\":\"result\"", ""},
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			got := ""
			for find, rest := askingOf(c.kind), c.text; rest != "" && find != nil; {
				n := min(size, len(rest))
				if cause := find([]byte(rest[:n])); cause != "" {
					got = cause
				}
				rest = rest[n:]
			}
			if got != c.want {
				t.Errorf("%q of kind %s in pieces of %d: %q, want %q", c.text, c.kind, size, got, c.want)
			}
		}
	}
}

func FuzzH07Attention(f *testing.F) {
	f.Add([]byte("\x1b]9;x\x1b\\\a"), 3)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		b, l := new(bells), new(turns)
		for _, piece := range [][]byte{p[:min(max(cut, 0), len(p))], p[min(max(cut, 0), len(p)):]} {
			b.find(piece)
			l.find(piece)
		}
		if len(b.text) > 8 || len(l.text) > 20 {
			t.Error("keeps more and more")
		}
	})
}

// A target alone cannot flood the events: it is told of once until somebody gives the session input.
func TestH07AttentionOnce(t *testing.T) {
	e := newEvents()
	s := &session{id: "s", events: e, log: discard}
	s.shown = wire.Session{State: wire.StateStarting, Name: strings.Repeat("ä", 100)}
	s.raise(wire.CauseBell)
	if e.last != 0 {
		t.Error("told before the launch")
	}
	s.mu.Lock()
	s.shown.State = wire.StateRunning
	s.mu.Unlock()
	for range 100 {
		s.raise(wire.CauseTurn)
	}
	if e.last != 0 || s.shown.Attention != wire.CauseBell {
		t.Errorf("%d events, %q", e.last, s.shown.Attention)
	}
	s.answered()
	for range 100 {
		s.raise(wire.CauseTurn)
	}
	if frame := string(e.kept[1]); e.last != 1 || !strings.Contains(frame, `"cause":"turn"`) || !strings.Contains(frame, `"name":"`+strings.Repeat("ä", 64)+`"`) {
		t.Errorf("%d events, %s", e.last, frame)
	}
}
