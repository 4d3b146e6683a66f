package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"hostshim/shim"
)

// screenModes follows the modes that a session's output sets in the terminal that shows it, so that leaving the session
// can put back those and no others (S22). It writes fixed sequences only, whatever the output holds.
type screenModes struct {
	private map[int]bool // DEC private modes that differ from a fresh terminal's
	keypad  bool         // application keypad
	color   bool         // character attributes
	shape   bool         // cursor shape
	keys    int          // keyboard protocols pushed, which the terminal keeps on a stack
	seq     []byte       // an escape sequence that has begun, without its ESC; nil: none
}

const (
	maxSequence = 64 // bytes: longer ones set none of these modes
	maxPushed   = 16
)

// Write follows the next output.
func (m *screenModes) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if m.seq == nil {
			at := bytes.IndexByte(p, 0x1b)
			if at < 0 {
				break
			}
			m.seq, p = make([]byte, 0, 8), p[at+1:]
			continue
		}
		c := p[0]
		p = p[1:]
		switch {
		case c == 0x1b: // a new sequence breaks the old one off
			m.seq = m.seq[:0]
			continue
		case c == 0x18 || c == 0x1a || len(m.seq) == maxSequence: // cancelled
			m.seq = nil
			continue
		case c < 0x20: // the terminal obeys it in the middle of a sequence
			continue
		}
		m.seq = append(m.seq, c)
		if m.seq[0] != '[' || len(m.seq) > 1 && c >= 0x40 {
			m.apply(string(m.seq))
			m.seq = nil
		}
	}
	return n, nil
}

// apply takes one sequence, without its ESC. The complexity: one case a sequence.
func (m *screenModes) apply(seq string) {
	switch seq {
	case "c", "[!p": // full and soft reset
		*m = screenModes{}
		return
	case "=", ">":
		m.keypad = seq == "="
		return
	case "[m":
		m.color = false
		return
	}
	if len(seq) < 3 || seq[0] != '[' {
		return
	}
	params := seq[1 : len(seq)-1]
	switch final := seq[len(seq)-1]; final {
	case 'h', 'l':
		if private, ok := strings.CutPrefix(params, "?"); ok {
			m.setPrivate(private, final == 'h')
		}
	case 'm':
		if params[0] >= '0' && params[0] <= '9' {
			m.color = strings.Trim(params, "0;") != ""
		}
	case 'q':
		if number, ok := strings.CutSuffix(params, " "); ok {
			m.shape = strings.Trim(number, "0") != ""
		}
	case 'u':
		switch params[0] {
		case '>':
			m.keys = min(m.keys+1, maxPushed)
		case '<':
			m.keys = max(0, m.keys-1)
		}
	}
}

func (m *screenModes) setPrivate(params string, on bool) {
	for param := range strings.SplitSeq(params, ";") {
		n, _ := strconv.Atoi(param)
		off := slices.Contains(shim.ModesOff, n) || slices.Contains(shim.Screens, n)
		if !off && !slices.Contains(shim.ModesOn, n) {
			continue
		}
		if m.private == nil {
			m.private = map[int]bool{}
		}
		if m.private[n] = on == off; !m.private[n] {
			delete(m.private, n)
		}
	}
}

// reset is what gives the terminal back as it was.
func (m *screenModes) reset() string {
	var b strings.Builder
	if m.seq != nil {
		b.WriteByte(0x18) // the output broke off inside a sequence
	}
	b.WriteString(strings.Repeat("\x1b[<u", m.keys))
	if m.color {
		b.WriteString("\x1b[m")
	}
	if m.shape {
		b.WriteString("\x1b[0 q")
	}
	if m.keypad {
		b.WriteString("\x1b>")
	}
	put := func(modes []int, end byte) {
		for _, mode := range modes {
			if m.private[mode] {
				b.WriteString("\x1b[?" + strconv.Itoa(mode) + string(end))
			}
		}
	}
	put(shim.ModesOn, 'h')
	put(shim.ModesOff, 'l')
	put(shim.Screens, 'l')
	return b.String()
}
