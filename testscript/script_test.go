package testscript

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A script is one run of one archive in a folder of its own.
type script struct {
	path    string // of the archive
	shown   string // the same, as messages name it
	archive *archive
	update  bool // rewrite the expected member of a failing cmp
	changed bool

	work    string            // $WORK; the only part of the disk that is the script's
	dir     string            // current folder
	env     map[string]string // what programs see
	vars    map[string]string // what only the script sees
	timeout time.Duration     // of one command

	stdout, stderr string // of the last program
	status         status // of the last program
	stdin          []byte // for the next program; nil: /dev/null

	procs   map[string]*proc // in the background, by name
	started []*proc
	handles map[string]*handle

	leaks   []string        // where a secret was seen
	leakOK  bool            // this script may show one
	secrets []secret        // what must not be seen
	exempt  map[string]bool // files that hold one by the script's own will

	log      strings.Builder // the phase, as a failure shows it
	line     int
	negative int  // line of a negative match that still wants a positive check
	positive bool // the phase has one
}

// A call is one command with its words.
type call struct {
	name  string
	neg   byte // 0, '!' or '?'
	words []word
	args  []string
}

var (
	errStop  = errors.New("stop")
	errUsage = errors.New("usage")
)

// skipped is the reason why a script ends early.
type skipped string

func (reason skipped) Error() string { return "skipped: " + string(reason) }

// verdict is what became of a script: a reason to skip it, a failure's text, or neither.
type verdict struct{ skip, failure string }

func runScript(path, shown, work string, update bool) verdict {
	data, err := os.ReadFile(path)
	if err != nil {
		return verdict{failure: err.Error()}
	}
	s := &script{path: path, shown: shown, archive: parseArchive(data), update: update, work: work}
	if err := s.setUp(); err != nil {
		return verdict{failure: s.shownText(err.Error())}
	}
	err = s.runLines()
	if err == nil {
		err = s.endPhase()
	}
	if err != nil {
		s.logLive()
	}
	s.endProcesses()
	skip, isSkip := err.(skipped)
	if leak := s.findLeaks(); err == nil || leak != nil && isSkip {
		err, isSkip = leak, false
	}
	s.closeHandles()
	if s.changed && err == nil {
		err = os.WriteFile(path, s.archive.format(), 0o644)
	}
	if isSkip {
		return verdict{skip: string(skip)}
	}
	if err != nil {
		where := fmt.Sprintf("%s:%d: %v", s.shown, s.line, err)
		return verdict{failure: s.shownText(s.log.String() + where)}
	}
	return verdict{}
}

// setUp makes the folders, the environment and the archive's files. What the developer's own environment
// holds reaches no script.
func (s *script) setUp() error {
	home := filepath.Join(s.work, "home")
	s.dir = filepath.Join(s.work, "project")
	s.env = map[string]string{
		"BIN": binDir, "WORK": s.work, "HOME": home, "TMPDIR": filepath.Join(s.work, "tmp"),
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_STATE_HOME": filepath.Join(home, ".local/state"),
		"XDG_DATA_HOME": filepath.Join(home, ".local/share"),
		"PATH":          binDir + ":" + fakesDir + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG":          "C", "TZ": "UTC", "TERM": "dumb",
	}
	s.vars, s.exempt = map[string]string{"REPO": repository}, map[string]bool{}
	s.procs, s.handles = map[string]*proc{}, map[string]*handle{}
	s.timeout = 5 * time.Minute // far more than any needs: it ends what hangs, and says nothing of speed
	s.addSecret("TOKEN", tokenMarker+randomHex(16))
	s.addClient()
	for _, dir := range []string{s.dir, home, s.env["TMPDIR"]} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, m := range s.archive.members {
		if m.name == "want-failure" {
			continue
		}
		name, err := s.expandText(m.name, false)
		if err != nil {
			return fmt.Errorf("file %q: %w", m.name, err)
		}
		name = s.abs(name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, m.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) runLines() error {
	comment := false // the line before was one
	for i, line := range strings.Split(string(s.archive.script), "\n") {
		line = strings.TrimSpace(line)
		wasComment := comment
		comment = strings.HasPrefix(line, "#")
		switch {
		case comment && wasComment:
			s.log.WriteString(line + "\n")
			continue
		case comment:
			if err := s.endPhase(); err != nil {
				return err
			}
			s.beginPhase(line)
			continue
		case line == "":
			continue
		}
		s.line = i + 1
		fmt.Fprintf(&s.log, "> %s\n", line)
		if err := s.runLine(line); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// beginPhase starts a phase, as a comment of one or more lines does: a failure shows nothing older.
func (s *script) beginPhase(line string) {
	s.log.Reset()
	s.log.WriteString(line + "\n")
	s.negative, s.positive = 0, false
	for _, h := range s.handles {
		h.numbers = nil
	}
}

// endPhase holds a phase to the rule that "it did not say X" proves nothing unless something else shows that
// it ran: a crash says nothing at all.
func (s *script) endPhase() error {
	if s.negative != 0 && !s.positive {
		s.line = s.negative
		return errors.New("a negative match needs a positive check in its phase (exit N, or stdout, stderr, grep, cmp, waitfor without !)")
	}
	return nil
}

var condition = regexp.MustCompile(`^\[(!?)([a-z]+)(?::(.+))?\]$`)

func (s *script) runLine(line string) error {
	words, err := splitLine(line)
	if err != nil {
		return err
	}
	for len(words) > 0 {
		m := condition.FindStringSubmatch(words[0].bare())
		if m == nil {
			break
		}
		holds, err := s.holds(m[2], m[3])
		if err != nil {
			return err
		}
		if holds == (m[1] == "!") {
			return nil
		}
		words = words[1:]
	}
	c := &call{}
	if len(words) > 0 && (words[0].bare() == "!" || words[0].bare() == "?") {
		c.neg, words = words[0].bare()[0], words[1:]
	}
	if len(words) == 0 {
		return errors.New("no command")
	}
	c.name, c.words = words[0].bare(), words[1:]
	err = s.runCommand(c)
	if err == errUsage {
		return fmt.Errorf("usage: %s", strings.TrimSpace(c.name+" "+commands[c.name].usage))
	}
	if _, isSkip := err.(skipped); err != nil && err != errStop && !isSkip {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return err
}

func (s *script) runCommand(c *call) error {
	cmd, ok := commands[c.name]
	if !ok {
		return errors.New("unknown command")
	}
	if c.neg != 0 && !strings.ContainsRune(cmd.flags, rune(c.neg)) {
		return fmt.Errorf("does not take %c", c.neg)
	}
	if strings.Contains(cmd.flags, "w") {
		return cmd.run(s, c)
	}
	pattern := strings.Contains(cmd.flags, "r")
	for _, w := range c.words {
		isFlag := strings.HasPrefix(w.bare(), "-")
		arg, err := s.expand(w, pattern && !isFlag)
		if err != nil {
			return err
		}
		pattern = pattern && isFlag
		c.args = append(c.args, arg)
	}
	if !cmd.takes(len(c.args)) {
		return errUsage
	}
	return cmd.run(s, c)
}

func (s *script) expandAll(words []word) (texts []string, err error) {
	for _, w := range words {
		text, err := s.expand(w, false)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// abs makes a path of the script's absolute, seen from its current folder.
func (s *script) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// shownText is text as a person may see it: the same in each run, and without a secret.
func (s *script) shownText(text string) string {
	for _, sec := range s.secrets {
		text = strings.ReplaceAll(text, sec.value, "$"+sec.name)
	}
	text = strings.ReplaceAll(text, s.work, "$WORK")
	for _, dir := range []struct{ path, name string }{{fakesDir, "$FAKES"}, {binDir, "$BIN"}} {
		text = strings.ReplaceAll(text, dir.path, dir.name)
	}
	return text
}
