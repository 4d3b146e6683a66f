package testscript

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A command is one word of the language. Its usage says how many arguments it takes. Flags: ! and ? are the prefixes that
// it takes, w means that it expands its words itself, r that its first argument is a regular expression.
type command struct {
	usage, flags string
	run          func(*script, *call) error
}

// commands is every command of the language. README.md lists the same, which a test checks.
var commands map[string]command

func init() { // not in the declaration: the commands run commands
	commands = map[string]command{
		"as":       {"UID exec|pty …", "!?w", cmdAs},
		"cd":       {"dir", "", cmdCd},
		"chmod":    {"mode file…", "", cmdChmod},
		"chown":    {"uid path…", "", cmdChown},
		"close":    {"name", "", cmdClose},
		"cmp":      {"got want", "", cmdCmp},
		"cp":       {"file… to", "", cmdCp},
		"env":      {"NAME=value… | -u NAME…", "", cmdEnv},
		"exec":     {"[redirects] program args… [&name&]", "!?w", func(s *script, c *call) error { return s.exec(c, launch{uid: -1}) }},
		"exists":   {"[-mode=M] file…", "!", cmdExists},
		"exit":     {"N|SIGNAL", "", cmdExit},
		"expand":   {"file…", "", cmdExpand},
		"fdtable":  {"name|pid", "", cmdFdtable},
		"grep":     {"[-count=N] [-as=NAME] re file|name", "!r", cmdGrep},
		"kill":     {"[-SIGNAL] [-g] name|pid", "", cmdKill},
		"leak-ok":  {"reason…", "", func(s *script, c *call) error { s.leakOK = true; return nil }},
		"ln":       {"[-s] old new", "", cmdLn},
		"mkdir":    {"dir…", "", cmdMkdir},
		"mv":       {"old new", "", cmdMv},
		"nonblock": {"name", "", cmdNonblock},
		"pipe":     {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("pipe", c) }},
		"procs":    {"", "", cmdProcs},
		"pty":      {"[redirects] program args… [&name&]", "!?w", func(s *script, c *call) error { return s.exec(c, launch{uid: -1, terminal: true}) }},
		"recv":     {"name file", "", cmdRecv},
		"resize":   {"name cols rows", "", cmdResize},
		"rm":       {"path…", "", cmdRm},
		"secret":   {"NAME [file]", "", cmdSecret},
		"send":     {"[-open] name file | name text…", "!", cmdSend},
		"skip":     {"reason…", "", func(s *script, c *call) error { return skipped(strings.Join(c.args, " ")) }},
		"socket":   {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("socket", c) }},
		"stderr":   {"[-count=N] [-as=NAME] re", "!r", cmdOutput},
		"stdin":    {"file|name", "", cmdStdin},
		"stdout":   {"[-count=N] [-as=NAME] re", "!r", cmdOutput},
		"stop":     {"", "", func(*script, *call) error { return errStop }},
		"timeout":  {"duration", "", cmdTimeout},
		"token":    {"file", "", func(s *script, c *call) error { return s.writeSecret(c.args[0], s.vars["TOKEN"]) }},
		"tty":      {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("tty", c) }},
		"wait":     {"[name…]", "", cmdWait},
		"waitfor":  {"[-count=N] [-as=NAME] re file|name", "r", cmdWaitfor},
	}
}

// takes says whether the usage allows so many arguments: of one alternative each word, those in brackets perhaps, and of
// a word with an ellipsis any number.
func (cmd command) takes(n int) bool {
	for _, alternative := range strings.Split(cmd.usage, " | ") {
		least, most := 0, 0
		for _, w := range strings.Fields(alternative) {
			most++
			if w[0] != '[' {
				least++
			}
			if strings.Contains(w, "…") {
				most = 1 << 20
			}
		}
		if n >= least && n <= most {
			return true
		}
	}
	return false
}

// flag takes a flag off the arguments' front, if it is there.
func (c *call) flag(name string) bool {
	if len(c.args) > 0 && c.args[0] == name {
		c.args = c.args[1:]
		return true
	}
	return false
}

// holds answers a [condition].
func (s *script) holds(name, arg string) (bool, error) {
	if arg != "" {
		return s.holdsFor(name, arg)
	}
	switch name {
	case "linux", "darwin":
		return runtime.GOOS == name, nil
	case "root":
		return os.Getuid() == 0, nil
	case "short":
		return testing.Short(), nil
	case "slow":
		return slow != "", nil
	case "race":
		return raceBuilt, nil
	case "descriptors":
		return manyDescriptors()
	case "landlock":
		return landlockVersion() > 0, nil
	case "client":
		return realClient().bin != "", nil
	case "sharedclient":
		return realClient().shared, nil
	}
	return false, fmt.Errorf("unknown condition [%s]", name)
}

// manyDescriptors says whether a program may have as many as scripts of crowds need.
func manyDescriptors() (bool, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Max) >= 8192, err
}

// holdsFor answers a [condition:argument].
func (s *script) holdsFor(name, arg string) (bool, error) {
	switch name {
	case "landlock":
		version, err := strconv.Atoi(arg)
		return landlockVersion() >= version, err
	case "client":
		return s.agent(arg).bin != "", nil
	case "sharedclient":
		c := s.agent(arg)
		return c.bin != "" && c.shared, nil
	case "exec":
		_, err := s.lookPath(arg)
		return err == nil, nil
	case "file":
		_, err := os.Stat(arg)
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition [%s:%s]", name, arg)
}

// maxShown is how much of one output a failure shows, from its end.
const maxShown = 8 << 10

// logOutput notes the last program's output and status for a failure of this phase.
func (s *script) logOutput() {
	s.logText("stdout", s.stdout)
	s.logText("stderr", s.stderr)
	if s.status.known && s.status.code() != 0 {
		fmt.Fprintf(&s.log, "[%v]\n", s.status)
	}
}

// printed makes what a command of the engine lists the last output.
func (s *script) printed(text string) {
	s.stdout, s.stderr = text, ""
	s.logText("stdout", text)
}

func (s *script) logText(label, text string) {
	if text == "" {
		return
	}
	if cut := len(text) - maxShown; cut > 0 {
		text = fmt.Sprintf("(%d bytes before)\n", cut) + text[cut:]
	}
	fmt.Fprintf(&s.log, "[%s]\n%s\n", label, strings.TrimSuffix(text, "\n"))
}

// logLive adds what programs of this phase wrote into named pipes, and what those in the background have said so far: it
// may be why the phase failed.
func (s *script) logLive() {
	for _, name := range slices.Sorted(maps.Keys(s.handles)) {
		h := s.handles[name]
		if len(h.numbers) == 0 {
			continue
		}
		if in, err := h.reader(); err == nil {
			s.logText(fmt.Sprintf("fd %d", h.numbers[0]), in.text())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.procs)) {
		p := s.procs[name]
		s.logText(name, screen(p.out.text()))
		if p.err != nil {
			s.logText(name+".err", p.err.text())
		}
	}
}
