package testscript

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// match is one search: stdout, stderr, grep and waitfor share its flags.
type match struct {
	count int    // -count=N: exactly so many, -1: at least one
	as    string // -as=NAME: a variable for what the first ( ) matched
	re    *regexp.Regexp
	rest  []string
}

func parseMatch(args []string) (m *match, err error) {
	m = &match{count: -1}
	// Nothing else that begins with a dash is a flag: a random pairing may.
	for ; len(args) > 0; args = args[1:] {
		name, value, _ := strings.Cut(args[0], "=")
		if name == "-count" {
			m.count, err = strconv.Atoi(value)
		} else if name == "-as" {
			m.as = value
		} else {
			break
		}
		if err != nil || value == "" {
			return nil, errUsage
		}
	}
	if len(args) == 0 {
		return nil, errUsage
	}
	m.re, err = regexp.Compile("(?m)" + args[0])
	m.rest = args[1:]
	return m, err
}

func (m *match) String() string { return strings.TrimPrefix(m.re.String(), "(?m)") }

// search applies a match to a text, and keeps the book on negative and positive checks.
func (s *script) search(m *match, neg byte, text, where string) error {
	found := m.re.FindAllStringSubmatch(text, -1)
	if neg == '!' {
		if m.count >= 0 || m.as != "" {
			return errors.New("! takes neither -count nor -as")
		}
		if len(found) > 0 {
			return fmt.Errorf("unexpected match for %#q in %s: %q", m.String(), where, found[0][0])
		}
		if s.negative == 0 {
			s.negative = s.line
		}
		return nil
	}
	if m.count >= 0 && len(found) != m.count {
		return fmt.Errorf("%d matches for %#q in %s, want %d", len(found), m.String(), where, m.count)
	}
	if m.count < 0 && len(found) == 0 {
		return fmt.Errorf("no match for %#q in %s", m.String(), where)
	}
	s.positive = s.positive || len(found) > 0
	return s.remember(m, found)
}

func (s *script) remember(m *match, found [][]string) error {
	if m.as == "" {
		return nil
	}
	if len(found) == 0 || len(found[0]) != 2 {
		return errors.New("-as wants one match with one ( )")
	}
	s.vars[m.as] = found[0][1]
	return nil
}

// cmdOutput is stdout and stderr: a search in the last program's output.
func cmdOutput(s *script, c *call) error {
	m, err := parseMatch(c.args)
	if err != nil {
		return err
	}
	if len(m.rest) > 0 {
		return errUsage
	}
	text, err := s.read(c.name)
	if err != nil {
		return err
	}
	return s.search(m, c.neg, string(text), c.name)
}

// cmdGrep searches what is there. What must match in a stream that goes on may still be on its way.
func cmdGrep(s *script, c *call) error {
	m, err := parseMatch(c.args)
	if err != nil {
		return err
	}
	if len(m.rest) != 1 {
		return errUsage
	}
	st, _, err := s.stream(m.rest[0])
	if err != nil {
		return err
	}
	if st != nil && c.neg == 0 && m.count != 0 {
		s.poll(func() (bool, error) {
			return st.ended() || len(m.re.FindAllString(screen(st.text()), m.count)) >= max(m.count, 1), nil
		})
	}
	text, err := s.read(m.rest[0])
	if err != nil {
		return err
	}
	return s.search(m, c.neg, string(text), m.rest[0])
}

// read gives a source its text: stdout, stderr, a background program (name, or name.err), a pipe, socket or terminal, else
// a file.
func (s *script) read(name string) ([]byte, error) {
	switch name {
	case "stdout":
		return []byte(s.stdout), nil
	case "stderr":
		return []byte(s.stderr), nil
	}
	st, terminal, err := s.stream(name)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return os.ReadFile(s.abs(name))
	}
	text := st.text()
	if terminal {
		text = screen(text)
	}
	return []byte(text), nil
}

// stream finds what is still arriving under a name; nil: nothing is.
func (s *script) stream(name string) (st *stream, terminal bool, err error) {
	base, isErr := strings.CutSuffix(name, ".err")
	if p := s.procs[base]; p != nil && (!isErr || p.err != nil) {
		if isErr {
			return p.err, false, nil
		}
		return p.out, p.terminal != nil, nil
	}
	if h := s.handles[name]; h != nil {
		if st, err = h.reader(); err != nil {
			err = fmt.Errorf("%q: %w", name, err)
		}
		return st, h.kind == "tty", err
	}
	return nil, false, nil
}

// screen is a terminal's output as lines.
func screen(text string) string { return strings.ReplaceAll(text, "\r", "") }

// cmdWaitfor asks until a stream or file matches. On a terminal, where what was typed is seen again, each
// waitfor goes on behind the last one's match.
func cmdWaitfor(s *script, c *call) error {
	m, err := parseMatch(c.args)
	if err != nil {
		return err
	}
	if len(m.rest) != 1 {
		return errUsage
	}
	name := m.rest[0]
	st, terminal, err := s.stream(name)
	if err != nil {
		return err
	}
	want := max(m.count, 1)
	err = s.poll(func() (bool, error) {
		over := st != nil && st.ended()
		data, err := s.read(name)
		if err != nil && (st != nil || !os.IsNotExist(err)) {
			return false, err
		}
		text := string(data)
		if terminal {
			text = text[min(st.seen, len(text)):]
		}
		at := m.re.FindAllStringSubmatchIndex(text, -1)
		if len(at) < want {
			if over {
				return false, fmt.Errorf("no match for %#q in %s, which has ended", m.String(), name)
			}
			return false, nil
		}
		if terminal {
			st.seen += at[want-1][1]
		}
		s.positive = true
		return true, s.remember(m, m.re.FindAllStringSubmatch(text, 1))
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%w after %v: no match for %#q in %s", errTimeout, s.timeout, m.String(), name)
	}
	return err
}

// cmdCmp compares two texts, $WORK's path aside. With -update the second one, a file of the archive, is
// rewritten where they differ.
func cmdCmp(s *script, c *call) error {
	var texts [2]string
	for i, name := range c.args {
		data, err := s.read(name)
		if err != nil {
			return err
		}
		texts[i] = strings.ReplaceAll(string(data), s.work, "$WORK")
	}
	s.positive = true
	if texts[0] == texts[1] {
		return nil
	}
	if m := s.archive.find(c.args[1]); s.update && m != nil {
		m.data = []byte(s.shownText(texts[0]))
		s.changed = true
		return nil
	}
	return fmt.Errorf("%s and %s differ:\n%s", c.args[0], c.args[1], diff(texts[0], texts[1]))
}

// diff shows the lines between the first and the last difference.
func diff(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for len(g) > 0 && len(w) > 0 && g[0] == w[0] {
		g, w = g[1:], w[1:]
	}
	for len(g) > 0 && len(w) > 0 && g[len(g)-1] == w[len(w)-1] {
		g, w = g[:len(g)-1], w[:len(w)-1]
	}
	var b strings.Builder
	show := func(mark string, lines []string) {
		for _, line := range lines {
			if line != "" {
				fmt.Fprintf(&b, "  %s %q\n", mark, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	show("want", w)
	show("got ", g)
	return strings.TrimSuffix(b.String(), "\n")
}

func cmdTimeout(s *script, c *call) error {
	d, err := time.ParseDuration(c.args[0])
	if err != nil || d <= 0 {
		return errUsage
	}
	s.timeout = d
	return nil
}
