package testscript

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// commands is every command of the language. README.md lists the same, which a test checks.
var commands map[string]command

func init() { // not in the declaration: the commands run commands
	commands = map[string]command{
		"as":       {"UID exec|pty …", "!?", cmdAs, true, false},
		"cd":       {"dir", "", cmdCd, false, false},
		"chmod":    {"mode file…", "", cmdChmod, false, false},
		"chown":    {"uid path…", "", cmdChown, false, false},
		"close":    {"name", "", cmdClose, false, false},
		"cmp":      {"got want", "", cmdCmp, false, false},
		"cp":       {"file… to", "", cmdCp, false, false},
		"env":      {"NAME=value… | -u NAME…", "", cmdEnv, false, false},
		"exec":     {"[redirects] program args… [&name&]", "!?", cmdExec, true, false},
		"exists":   {"[-mode=M] file…", "!", cmdExists, false, false},
		"exit":     {"N|SIGNAL", "", cmdExit, false, false},
		"expand":   {"file…", "", cmdExpand, false, false},
		"fdtable":  {"name|pid", "", cmdFdtable, false, false},
		"grep":     {"[-count=N] [-as=NAME] re file|name", "!", cmdGrep, false, true},
		"kill":     {"[-SIGNAL] [-g] name|pid", "", cmdKill, false, false},
		"leak-ok":  {"reason", "", cmdLeakOK, false, false},
		"ln":       {"[-s] old new", "", cmdLn, false, false},
		"mkdir":    {"dir…", "", cmdMkdir, false, false},
		"mv":       {"old new", "", cmdMv, false, false},
		"nonblock": {"name", "", cmdNonblock, false, false},
		"pipe":     {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("pipe", c) }, false, false},
		"procs":    {"", "", cmdProcs, false, false},
		"pty":      {"[redirects] program args… [&name&]", "!?", cmdPty, true, false},
		"recv":     {"name file", "", cmdRecv, false, false},
		"resize":   {"name cols rows", "", cmdResize, false, false},
		"rm":       {"path…", "", cmdRm, false, false},
		"secret":   {"NAME [file]", "", cmdSecret, false, false},
		"send":     {"[-open] name file | name text", "!", cmdSend, false, false},
		"skip":     {"reason", "", cmdSkip, false, false},
		"socket":   {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("socket", c) }, false, false},
		"stderr":   {"[-count=N] [-as=NAME] re", "!", cmdStderr, false, true},
		"stdin":    {"file|name", "", cmdStdin, false, false},
		"stdout":   {"[-count=N] [-as=NAME] re", "!", cmdStdout, false, true},
		"stop":     {"", "", func(*script, *call) error { return errStop }, false, false},
		"timeout":  {"duration", "", cmdTimeout, false, false},
		"token":    {"file", "", cmdToken, false, false},
		"tty":      {"[-keep] name", "", func(s *script, c *call) error { return s.addHandle("tty", c) }, false, false},
		"wait":     {"[name…]", "", cmdWait, false, false},
		"waitfor":  {"[-count=N] [-as=NAME] re file|name", "", cmdWaitfor, false, true},
	}
}

func cmdSkip(s *script, c *call) error {
	reason := strings.Join(c.args, " ")
	if reason == "" {
		return errors.New("wants a reason")
	}
	return skipped{reason}
}

// holds answers a [condition].
func (s *script) holds(name, arg string) (bool, error) {
	if (name == "exec") != (arg != "") {
		return false, fmt.Errorf("unknown condition [%s:%s]", name, arg)
	}
	switch name {
	case "linux", "darwin":
		return runtime.GOOS == name, nil
	case "root":
		return os.Getuid() == 0, nil
	case "short":
		return testing.Short(), nil
	case "race":
		return raceBuilt, nil
	case "landlock":
		return haveLandlock(), nil
	case "client":
		return realClient().bin != "", nil
	case "sharedclient":
		return realClient().shared, nil
	case "exec":
		_, err := s.lookPath(arg)
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition [%s]", name)
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

// logLive adds what programs of this phase wrote into named pipes, and what those in the background have said
// so far: it may be why the phase failed.
func (s *script) logLive() {
	for _, name := range slices.Sorted(maps.Keys(s.handles)) {
		h := s.handles[name]
		if len(h.fds) == 0 {
			continue
		}
		if in, err := h.reader(); err == nil {
			s.logText(fmt.Sprintf("fd %d", h.fds[0]), in.text())
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
