package shim

import (
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Version is what --version prints, for both programs.
const Version = "0.1.0"

// Usage is what --help prints.
const Usage = `usage: shim [exec] [flags] -- TARGET [ARG...]

Starts TARGET with only descriptors 0, 1 and 2 (and 5, see --pass-token),
forwards signals to it, and exits with its status.

  --pass-token           hand descriptor 5, a pipe with a token, to TARGET at 5,
                         unread
  --sandbox-profile ABS  run TARGET inside the sandbox that this file describes
  --identity             prove the launch identity that descriptor 3 brings;
                         needs --session-id
  --session-id ID        the session's name: letters, digits, "." "_" "-", at
                         most 128
  --pty                  make descriptor 0 the controlling terminal of a new
                         session
  --status-fd N          write status events, one JSON object a line, to this
                         descriptor (default 4, if that is a pipe or socket)
  --own-gomaxprocs       GOMAXPROCS is set for the shim alone: TARGET does not
                         get it
  --listener-fd N        a network of its own for the sandbox, whose listener
                         comes back over this Unix socket; only the host has a
                         use for it
  --help, --version

exit status: the target's own, or 128 + signal; 127 not found, 126 cannot start;
78 identity refused; 70 usage error, or a sandbox that cannot be applied.

example, for bash and zsh:
  shim --pass-token -- claude 5< <(cat ~/.config/relay/token)
`

// options are the checked command line (S02). checkFDs checks the descriptors that it names.
type options struct {
	sessionID string
	identity  bool
	pty       bool
	passToken bool
	ownProcs  bool
	profile   string
	statusFD  int // -1: not asked for
	listener  int // -1: none
	target    []string

	help, version bool
}

func parseOptions(args []string) (*options, error) {
	o := &options{statusFD: -1, listener: -1}
	if len(args) > 0 && args[0] == "exec" {
		args = args[1:]
	}
	f := flag.NewFlagSet("shim", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	seen := map[string]bool{}
	once := func(name string, set func(string) error) func(string) error {
		return func(v string) error {
			if seen[name] {
				return errors.New("given twice")
			}
			seen[name] = true
			return set(v)
		}
	}
	text := func(name string, p *string) {
		f.Func(name, "", once(name, func(v string) error { *p = v; return nil }))
	}
	yes := func(name string, p *bool) {
		f.BoolFunc(name, "", once(name, func(v string) (err error) {
			if *p, err = strconv.ParseBool(v); err != nil {
				return errors.New("neither true nor false")
			}
			return nil
		}))
	}
	number := func(name string, p *int) {
		f.Func(name, "", once(name, func(v string) (err error) { *p, err = plainDecimal(v); return }))
	}
	text("session-id", &o.sessionID)
	text("sandbox-profile", &o.profile)
	yes("identity", &o.identity)
	yes("pty", &o.pty)
	yes("pass-token", &o.passToken)
	yes("own-gomaxprocs", &o.ownProcs)
	yes("version", &o.version)
	number("status-fd", &o.statusFD)
	number("listener-fd", &o.listener)

	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		o.help = true
		return o, nil
	} else if err != nil {
		return nil, usage(err.Error(), "shim --help lists the flags")
	}
	if o.version {
		return o, nil
	}
	// The flag package drops "--". The shim requires it, so that a mistyped flag never runs as the target.
	o.target = f.Args()
	if n := len(args) - len(o.target); len(o.target) > 0 && (n == 0 || args[n-1] != "--") {
		return nil, usage("unexpected argument "+strconv.Quote(o.target[0]), "put -- before the target: shim [flags] -- TARGET [ARG...]")
	}
	return o, o.check(seen)
}

// check refuses what S02 refuses without a look at any descriptor.
func (o *options) check(seen map[string]bool) error {
	switch {
	case len(o.target) == 0:
		return usage("no target", "shim [flags] -- TARGET [ARG...]")
	case o.identity && !seen["session-id"]:
		return usage("--identity needs --session-id", "")
	case seen["session-id"] && !ValidSessionID(o.sessionID):
		return usage("--session-id: "+strconv.Quote(o.sessionID)+" is not a session id", `letters, digits, ".", "_" and "-", at most 128, the first a letter or digit`)
	case seen["sandbox-profile"] && !filepath.IsAbs(o.profile):
		return usage("--sandbox-profile: "+strconv.Quote(o.profile)+" is not an absolute path", "")
	}
	return o.checkNumbers()
}

// checkNumbers refuses two uses of one descriptor number (S03).
func (o *options) checkNumbers() error {
	switch {
	case o.statusFD == IdentityFD && o.identity:
		return usage("--status-fd: fd 3 carries the identity", "use --status-fd 4")
	case o.statusFD == TokenFD && o.passToken:
		return usage("--status-fd: fd 5 carries the token", "use --status-fd 4")
	case o.listener >= 0 && (o.listener <= TokenFD || o.listener == o.statusFD):
		return usage("--listener-fd: fd "+strconv.Itoa(o.listener)+" is taken", "use --listener-fd 6")
	case o.listener >= 0 && o.profile == "":
		return usage("--listener-fd needs --sandbox-profile", "")
	}
	return nil
}

// plainDecimal reads a descriptor number: only digits, at most 2³¹-1.
func plainDecimal(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || strings.Trim(s, "0123456789") != "" || (len(s) > 1 && s[0] == '0') {
		return -1, errors.New("not a descriptor number in plain decimal")
	}
	return int(n), nil
}

// launch is one run of the shim.
type launch struct {
	*options
	environ []string
	fds     launchFDs
	status  status
	signals *signals
	term    terminal
	target  *target
	end     ending
}

// ending is how a launch ended when nothing failed: the target's exit status, or the signal that ended the target or
// stopped the launch before it ran.
type ending struct {
	status int
	signal syscall.Signal
}

// errStopped ends the agenda when a signal stopped the launch. launch.end holds the signal.
var errStopped = errors.New("a signal stopped the launch")

// failure is why a target never ran: what to say, what could cure it, and the shim's exit status.
type failure struct {
	err   error
	hint  string
	exit  int
	errno syscall.Errno // for the event spawn_failed
}

func (f *failure) Error() string { return f.err.Error() }

// usage is a mistake of the caller (S02).
func usage(msg, hint string) error {
	return &failure{err: errors.New(msg), hint: hint, exit: ExitUsage}
}

// called is the name that this program was called by, for its messages: it may be installed under a prefix.
var called = "shim"

// Main runs the shim with the command line and environment given and returns its exit status.
func Main(args, environ []string) int {
	if isStage(args) {
		return stageMain(args, environ)
	}
	makeUndumpable()
	if len(args) > 0 && args[0] != "" {
		called = oneLine(filepath.Base(args[0]))
	}
	if len(args) > 1 && args[1] == hookWord {
		return refuseHook()
	}
	l := &launch{environ: environ, status: status{fd: -1}, term: terminal{fd: -1}}
	var err error
	l.options, err = parseOptions(args[min(1, len(args)):])
	switch {
	case err != nil:
		return l.finish(err)
	case l.help:
		return write(1, Usage)
	case l.version:
		return write(1, "shim "+Version+"\n")
	}
	err = l.run()
	l.term.takeBack() // after a failure too (S18)
	if err == nil && l.end.signal != 0 {
		l.term.restore(lookEnv(environ, "TERM")) // as a shell does after a job that a signal ended (S22)
	}
	return l.finish(err)
}

// run is the agenda of a launch (S04).
func (l *launch) run() error {
	l.signals = catchSignals()
	if err := l.checkFDs(); err != nil {
		return err
	}
	secret, err := l.readSecret()
	if err != nil {
		return err
	}
	if err := l.becomeLeader(); err != nil {
		return err
	}
	if err := l.hello(secret); err != nil {
		return err
	}
	if err := l.start(); err != nil {
		return err
	}
	return l.wait()
}

// finish prints what failed and returns the exit status. No other function decides it (S16).
func (l *launch) finish(err error) int {
	var f *failure
	switch {
	case err == nil || err == errStopped:
		if l.end.signal == 0 {
			return l.end.status
		}
		l.raiseTerminalSignal()
		return ExitSignal + int(l.end.signal)
	case errors.As(err, &f):
		complain(f.Error(), f.hint)
		return f.exit
	}
	complain(err.Error(), "")
	return ExitUsage
}

func complain(msg, hint string) {
	if hint != "" {
		hint = called + ": hint: " + hint + "\n"
	}
	write(2, called+": error: "+oneLine(msg)+"\n"+hint)
}

func warn(msg string) { write(2, called+": warning: "+msg+"\n") }

// write does not use the os package: there, a write to a broken pipe on 1 or 2 ends the program.
func write(fd int, text string) int {
	for b := []byte(text); len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil && err != unix.EINTR {
			return ExitUsage
		}
		b = b[max(n, 0):]
	}
	return 0
}
