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

func parseMatch(args []string) (*match, error) {
	m := &match{count: -1}
	// Nothing else that begins with a dash is a flag: a random pairing may.
	for len(args) > 0 && (strings.HasPrefix(args[0], "-count=") || strings.HasPrefix(args[0], "-as=")) {
		name, value, _ := strings.Cut(args[0], "=")
		var err error
		if name == "-count" {
			m.count, err = strconv.Atoi(value)
		} else if m.as = value; value == "" {
			err = errUsage
		}
		if err != nil {
			return nil, errUsage
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, errUsage
	}
	re, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return nil, err
	}
	m.re, m.rest = re, args[1:]
	return m, nil
}

// search applies a match to a text, and keeps the book on negative and positive checks.
func (s *script) search(m *match, neg byte, text, where string) error {
	found := m.re.FindAllStringSubmatch(text, -1)
	pattern := strings.TrimPrefix(m.re.String(), "(?m)")
	if neg == '!' {
		if m.count >= 0 || m.as != "" {
			return errors.New("! takes neither -count nor -as")
		}
		if len(found) > 0 {
			return fmt.Errorf("unexpected match for %#q in %s: %q", pattern, where, found[0][0])
		}
		if s.negative == 0 {
			s.negative = s.line
		}
		return nil
	}
	if m.count >= 0 && len(found) != m.count {
		return fmt.Errorf("%d matches for %#q in %s, want %d", len(found), pattern, where, m.count)
	}
	if m.count < 0 && len(found) == 0 {
		return fmt.Errorf("no match for %#q in %s", pattern, where)
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

func cmdStdout(s *script, c *call) error { return s.output(c, "stdout") }
func cmdStderr(s *script, c *call) error { return s.output(c, "stderr") }

func (s *script) output(c *call, which string) error {
	m, err := parseMatch(c.args)
	if err == nil && len(m.rest) > 0 {
		err = errUsage
	}
	if err != nil {
		return err
	}
	text, err := s.read(which)
	if err != nil {
		return err
	}
	return s.search(m, c.neg, string(text), which)
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

// read gives a source its text: stdout, stderr, a background program (name, or name.err), a pipe, socket or
// terminal, else a file.
func (s *script) read(name string) ([]byte, error) {
	if name == "stdout" || name == "stderr" {
		text := s.stdout
		if name == "stderr" {
			text = s.stderr
		}
		return []byte(text), nil
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

func (s *script) stream(name string) (st *stream, terminal bool, err error) {
	base, isErr := strings.CutSuffix(name, ".err")
	if p := s.procs[base]; p != nil && (!isErr || p.err != nil) {
		if isErr {
			return p.err, false, nil
		}
		return p.out, p.terminal != nil, nil
	}
	if h := s.handles[name]; h != nil {
		st, err := h.reader()
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
				return false, fmt.Errorf("no match for %#q in %s, which has ended", strings.TrimPrefix(m.re.String(), "(?m)"), name)
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
		return fmt.Errorf("%w after %v: no match for %#q in %s", errTimeout, s.timeout, strings.TrimPrefix(m.re.String(), "(?m)"), name)
	}
	return err
}

// cmdCmp compares two texts, $WORK's path aside. With -update the second one, a file of the archive, is
// rewritten where they differ.
func cmdCmp(s *script, c *call) error {
	if len(c.args) != 2 {
		return errUsage
	}
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
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"want", w}, {"got ", g}} {
		for _, line := range side.lines {
			if line != "" {
				fmt.Fprintf(&b, "  %s %q\n", side.mark, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func cmdTimeout(s *script, c *call) error {
	if len(c.args) != 1 {
		return errUsage
	}
	d, err := time.ParseDuration(c.args[0])
	if err != nil || d <= 0 {
		return errUsage
	}
	s.timeout = d
	return nil
}
