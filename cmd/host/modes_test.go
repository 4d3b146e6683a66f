package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"hostshim/shim"
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

// What the shim puts back after a target, host attach does, and each by itself.
func TestS22AttachResetsTheShimsModes(t *testing.T) {
	modes := slices.Concat(shim.ModesOn, shim.ModesOff, shim.Screens)
	var all screenModes
	want := "\x1b>"
	for _, mode := range modes {
		set, unset := "\x1b[?"+strconv.Itoa(mode)+"h", "\x1b[?"+strconv.Itoa(mode)+"l"
		if slices.Contains(shim.ModesOn, mode) {
			set, unset = unset, set
		}
		want += unset
		all.Write([]byte(set))
		var one screenModes
		if one.Write([]byte(set)); one.reset() != unset {
			t.Errorf("after %q: %q", set, one.reset())
		}
		if one.Write([]byte(unset)); one.reset() != "" {
			t.Errorf("after %q and %q: %q", set, unset, one.reset())
		}
	}
	if all.Write([]byte("\x1b=")); all.reset() != want {
		t.Errorf("all of them: %q, want %q", all.reset(), want)
	}
}

func FuzzScreenModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25l\x1b[>1u\x1b["))
	f.Fuzz(func(t *testing.T, output []byte) {
		var m, after screenModes
		m.Write(output)
		reset := m.reset()
		if len(reset) > 300 || len(m.seq) > maxSequence || len(m.private) > len(shim.ModesOff)+len(shim.ModesOn)+len(shim.Screens) {
			t.Fatalf("%q: %q", output, reset)
		}
		after.Write(append(output, reset...))
		if again := after.reset(); again != "" {
			t.Fatalf("%q, then %q, leaves %q", output, reset, again)
		}
	})
}
