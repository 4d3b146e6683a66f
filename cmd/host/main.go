// Command host launches sandboxed coding agents and hands each its credential on a descriptor.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"hostshim/host"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/shim"
)

// The main goroutine keeps the main thread: a shim that `host run` starts ends with the thread that started it.
func init() { runtime.LockOSThread() }

// command is one subcommand.
type command struct {
	name, args, summary string
	run                 func(args []string) int
}

// commands in the order in which --help lists them.
func commands() []command {
	return []command{
		{"init", "[flags]", "save the token, make the settings, try the whole way", initialize},
		{"run", "[flags] [-- TARGET [ARG...]]", "launch in the foreground", run},
		{"serve", "[flags]", "run the long-lived host", serve},
		{"start", "[flags] [-- TARGET [ARG...]]", "start a session with a terminal on the running host", start},
		{"ps", "[flags]", "list the running host's sessions", ps},
		{"log", "[flags] ID", "print a session's output", log},
		{"attach", "[flags] ID", "connect this terminal to a session", attach},
		{"stop", "ID", "end a session", stop},
		{"shutdown", "", "end the running host and its sessions", shutdown},
		{"launch", "FILE|-", "send a launch request as it is, print the answer", launch},
		{"session", "create|list|revoke", "make, list and revoke pairings for the model proxy", session},
		{"llm-proxy", "session create|list|revoke", "the same, by the name that relay's commands have", llmProxy},
		{"why", "PATH|HOST [flags]", "say whether a session could use that, and what decides", why},
		{"status", "[--json]", "show the settings in force and what would stop a launch", status},
		{"requests", "[flags]", "print the sessions' requests to the model", requests},
		{"audit", "[flags]", "print what was launched, refused and ended", audit},
		{"doctor", "[--json]", "try the whole way with a throw-away token", runDoctor},
		{"completion", "bash|zsh|fish", "print what completes this command in a shell", completion},
		{"version", "", "print the version", version},
	}
}

func main() {
	host.HideMemory()
	os.Exit(dispatch(os.Args[1:]))
}

func dispatch(args []string) int {
	if len(args) == 0 {
		return usageError("no command", called()+" --help lists them")
	}
	switch args[0] {
	case "help":
		if len(args) > 1 {
			return helpWith(args[1:])
		}
		fallthrough
	case "--help", "-help", "-h":
		fmt.Print(help())
		return 0
	case "--version", "-version":
		return version(nil)
	case insideCommand:
		return doctorInside(args[1:])
	case completeCommand:
		return complete(args[1:])
	}
	c, known := named(args[0])
	if !known {
		return unknownCommand(args[0])
	}
	if c.name != "run" && c.name != "attach" { // which ask for it
		shim.ByDefault(syscall.SIGQUIT) // the runtime would print its goroutines
	}
	return c.run(args[1:])
}

func named(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

func unknownCommand(name string) int {
	var known []string
	for _, c := range commands() {
		known = append(known, c.name)
	}
	return usageError(fmt.Sprintf("unknown command %q%s", name, nearest(name, known)), called()+" --help lists them")
}

// helpWith is `host help COMMAND`.
func helpWith(args []string) int {
	c, known := named(args[0])
	switch {
	case !known:
		return unknownCommand(args[0])
	case len(args) > 1:
		return usageError(fmt.Sprintf("unexpected argument %q", args[1]), called()+" help COMMAND")
	}
	return c.run([]string{"--help"})
}

const exitStatuses = `exit status: 0 done; 1 failed; 70 usage error; 78 the launch was refused; 126 the target cannot start; 127 it is not
there. host run and attach: that of the target.
`

func help() string {
	var b strings.Builder
	b.WriteString("usage: " + called() + " COMMAND [flags]\n\nStarts sandboxed coding agents and hands each its credential on a descriptor.\n\n")
	width := 0
	for _, c := range commands() {
		width = max(width, len(c.name))
	}
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, c.name, c.summary)
	}
	fmt.Fprintf(&b, "\n%s COMMAND --help lists a command's flags.\n\n%s", called(), folded(inOwnName(exitStatuses)))
	return b.String()
}

// flags is a flag set whose errors read like all others, with the flags that every command has.
type flags struct {
	*flag.FlagSet
	command         string
	settings, state string
	bearerFD        int
	more            string // the end of --help
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), command: name}
	f.SetOutput(io.Discard)
	f.StringVar(&f.settings, "settings", "", "`FILE` the settings (default: relay/settings.json in the user's configuration folder)")
	f.StringVar(&f.state, "state-dir", "", "`DIR` where profiles and audit rows are (default: relay-host in the user's state folder)")
	return f
}

// parse is done when code is 0 and ok true; else the command ends with code.
func (f *flags) parse(args []string, positional int) (code int, ok bool) {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(f.help())
		return 0, false
	case err != nil:
		return usageError(f.misspelt(err), called()+" "+f.command+" --help lists the flags"), false
	case positional >= 0 && f.NArg() > positional:
		return usageError(fmt.Sprintf("unexpected argument %q", f.Arg(positional)), called()+" "+f.command+" --help shows its usage"), false
	case positional >= 0 && f.NArg() < positional:
		return usageError("an argument is missing", f.usage()), false
	}
	return 0, true
}

// misspelt is a mistake of the flag package in this program's words, with the flag that was probably meant.
func (f *flags) misspelt(err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var known []string
	f.VisitAll(func(g *flag.Flag) { known = append(known, g.Name) })
	word, text := dashed(name), ""
	if near := settings.Near(name, known); near != "" {
		text = fmt.Sprintf(", the nearest is %q", dashed(near))
	}
	return fmt.Sprintf("unknown flag %q%s", word, text)
}

// dashed is a flag as people write it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// given says whether the flag was, even with its default's value.
func (f *flags) given(name string) (yes bool) {
	f.Visit(func(g *flag.Flag) { yes = yes || g.Name == name })
	return yes
}

// usage is the command's line of usage.
func (f *flags) usage() string {
	for _, c := range commands() {
		if c.name == f.command {
			return "usage: " + called() + " " + strings.TrimSpace(c.name+" "+c.args)
		}
	}
	return ""
}

func (f *flags) help() string {
	var b strings.Builder
	for _, c := range commands() {
		if c.name == f.command {
			fmt.Fprintf(&b, "%s\n\n%s%s.\n\n", f.usage(), strings.ToUpper(c.summary[:1]), c.summary[1:])
		}
	}
	f.VisitAll(func(fl *flag.Flag) {
		value, text := flag.UnquoteUsage(fl)
		text = inOwnName(strings.TrimLeft(strings.TrimPrefix(text, value), ": "))
		fmt.Fprintf(&b, "  %-18s  %s\n", strings.TrimSpace(dashed(fl.Name)+" "+value), fold(strings.Fields(text), 22, helpWidth))
	})
	b.WriteString(folded(inOwnName(f.more)))
	return b.String()
}

// places are the files and folders to work with. An empty shimPath is the shim beside this program.
func (f *flags) places(shimPath string) (state.Places, error) {
	return state.Find(f.settings, f.state, shimPath)
}

func version(args []string) int {
	if code, ok := newFlags("version").parse(args, 0); !ok {
		return code
	}
	fmt.Println("host " + shim.Version)
	return 0
}
