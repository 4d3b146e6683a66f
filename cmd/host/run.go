package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"hostshim/host"
	"hostshim/host/wire"
	"hostshim/shim"
)

const runMore = `
With no TARGET the template's own command runs.

exit status: the target's own, or 128 + signal; 127 not found, 126 cannot start; 78 the launch was refused;
70 usage error.

example: host run --template shell --env LANG=C -- make test
`

func run(args []string) int {
	f := newFlags("run")
	var shimPath string
	f.StringVar(&shimPath, "shim", "", "`PATH` the shim (default: the one beside this program)")
	var keep []string
	f.Func("keep-env", "`NAME` keep this variable although it looks like a credential; may be given several times", func(name string) error {
		if name == "" || strings.Contains(name, "=") {
			return errors.New("want NAME alone") // it would be a value that a usage error prints
		}
		keep = append(keep, name)
		return nil
	})
	var hosts, services []string
	f.Func("service", "`ID` the session may use this service of llm_proxy.services too; may be given several times", func(id string) error {
		services = append(services, id)
		return nil
	})
	f.Func("allow-host", "`HOST` a closed network reaches this host too, as example.com:8443 or *.example.com; may be given several times", func(v string) error {
		hosts = append(hosts, v)
		return nil
	})
	var read, write []string
	f.pathFlag(&read, "read", "`PATH` the session may read this too, with all below; may be given several times")
	f.pathFlag(&write, "write", "`PATH` the session may also change this; may be given several times")
	var dry, asJSON bool
	f.BoolVar(&dry, "dry-run", false, "show what would be launched, and make nothing")
	f.BoolVar(&asJSON, "json", false, "with --dry-run: print a JSON object")
	f.more = runMore
	r, code, ok := f.launchRequest("run", args)
	if !ok {
		return code
	}
	r.KeepEnv, r.AllowHosts, r.Services, r.Read, r.ReadWrite = keep, hosts, services, read, write
	places, err := f.places(shimPath)
	if err != nil {
		return f.refuse(r, wire.SandboxUnavailable, err)
	}
	h := host.New(host.Config{Places: places, Environ: os.Environ(), Warn: warn, Hint: hint, Broker: host.NewBroker(places, warn)})
	if dry {
		return dryRun(h, r, asJSON)
	} else if asJSON {
		return usageError("--json belongs to --dry-run", called()+" run --help shows its usage")
	}
	end, err := h.Run(r)
	if err != nil {
		return fail(err)
	}
	hints(r, end)
	if (end.Shim == syscall.SIGINT || end.Shim == syscall.SIGQUIT) && shim.ByDefault(end.Shim) {
		// The terminal's key ended the target: end by it too, so that a script around this ends as well (S18).
		syscall.Kill(os.Getpid(), end.Shim)
	}
	return end.Status
}

// refusedHosts says which hosts the session asked for in vain, and what would let it reach them.
func refusedHosts(template string, refused []string, more int) string {
	text := "hosts that the session was refused: " + strings.Join(refused, ", ")
	if more > 0 {
		text += fmt.Sprintf(", and %d attempts at others", more)
	}
	return text + fmt.Sprintf(`: add one to "hosts" of template %q, or say --allow-host %s`, template, refused[0])
}

// hints says what a person may want to do after the session.
// complexity: one hint a case
func hints(r *host.Request, end host.Outcome) {
	if end.Missing != "" {
		from := ""
		if end.Package != "" {
			from = " (npm install -g " + end.Package + ")"
		}
		hint(fmt.Sprintf("template %q runs %q: install that%s, or name a target: %s run -- TARGET [ARG...]", r.TemplateID, end.Missing, from, called()))
	}
	if end.Meant != "" {
		hint(fmt.Sprintf("a word for %s comes after its name: %s run --template %s -- %s %s", end.Meant, called(), r.TemplateID, end.Meant, r.Argv[0]))
	}
	if end.Installer != "" {
		hint("the package was installed without its set-up: node " + end.Installer)
	}
	if len(end.Refused) > 0 {
		hint(refusedHosts(r.TemplateID, end.Refused, end.More))
	}
	if len(end.Missed) > 0 {
		hint(fmt.Sprintf("closed to the target, should it have looked there: %s: %s why PATH says what opens one", strings.Join(end.Missed, ", "), called()))
	}
	if end.Lost != "" {
		hint(end.Lost)
	}
	if end.Resume != "" && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
		template := ""
		if r.TemplateID != "claude-code" {
			template = "--template " + r.TemplateID + " "
		}
		hint("to continue this conversation, in this folder: " + called() + " run " + template + "-- claude --resume " + end.Resume)
	}
}
