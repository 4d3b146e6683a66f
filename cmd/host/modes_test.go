package main

import (
	"strings"
	"testing"
)

func TestS22ScreenModes(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"plain text", "hello\r\n\x1b[2J\x1b[1;1H\x1b[K", ""},
		{"a full screen program", "\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h\x1b=", "\x1b>\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l"},
		{"and one that cleaned up", "\x1b[?1049h\x1b[?25l\x1b=\x1b>\x1b[?25h\x1b[?1049l", ""},
		{"colour, cursor, keyboard", "\x1b[1;31mred\x1b[4 q\x1b[>1u\x1b[>3u", "\x1b[<u\x1b[<u\x1b[m\x1b[0 q"},
		{"put back", "\x1b[1mx\x1b[0m\x1b[4 q\x1b[0 q\x1b[>1u\x1b[<u", ""},
		{"a reset", "\x1b[?1049h\x1b[31m\x1bc", ""},
		{"a soft reset", "\x1b[?25l\x1b[!p", ""},
		{"broken off", "\x1b[?25l\x1b[?10", "\x18\x1b[?25h"},
		{"a sequence inside another", "\x1b[?10\x1b[?25l", "\x1b[?25h"},
		{"cancelled", "\x1b[?25\x18l", ""},
		{"with a line end inside", "\x1b[?2\n5l", "\x1b[?25h"},
		{"too long", "\x1b[?" + strings.Repeat("0", 100) + "25l", ""},
		{"a title that looks like one", "\x1b]0;[?25l\x07", ""},
		{"unknown ones", "\x1b[?9999h\x1b[?h\x1b[h\x1b[?25$p\x1b(B", ""},
	} {
		for _, step := range []int{1, len(c.output)} {
			var m screenModes
			for rest := c.output; rest != ""; {
				n := min(step, len(rest))
				m.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := m.reset(); got != c.want {
				t.Errorf("%s, %d at a time: %q, want %q", c.name, step, got, c.want)
			}
		}
	}
}

func FuzzScreenModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25l\x1b[>1u\x1b["))
	f.Fuzz(func(t *testing.T, output []byte) {
		var m, after screenModes
		m.Write(output)
		reset := m.reset()
		if len(reset) > 300 || len(m.seq) > maxSequence || len(m.private) > len(shownModes) {
			t.Fatalf("%q: %q", output, reset)
		}
		after.Write(append(output, reset...))
		if again := after.reset(); again != "" {
			t.Fatalf("%q, then %q, leaves %q", output, reset, again)
		}
	})
}
