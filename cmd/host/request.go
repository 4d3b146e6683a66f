package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host"
	"hostshim/host/wire"
)

// launchRequest reads the flags that say what to launch, of a command that does. It is done when ok is false.
func (f *flags) launchRequest(prefix string, args []string) (r *host.Request, code int, ok bool) {
	r = &host.Request{SessionID: host.NewSessionID(prefix), Env: map[string]string{}, Sandbox: true}
	var bare bool
	f.StringVar(&r.TemplateID, "template", "claude-code", "`ID` template: what runs, and what it may reach (default claude-code)")
	f.StringVar(&r.Directory, "dir", ".", "`DIR` where the target starts and works (default: here)")
	f.StringVar(&r.Credential, "credential", wire.CredentialAuto, "`KIND` on descriptor 5: auto (as the template says), token, pairing or none")
	f.BoolVar(&bare, "no-sandbox", false, "run the target unconfined, without a credential")
	var env []string
	f.Func("env", "`NAME=VALUE` for the target's environment; may be given several times", func(v string) error {
		env = append(env, v) // read below: an error here would print the value
		return nil
	})
	if code, ok := f.parse(args, -1); !ok {
		return nil, code, false
	}
	usage := fmt.Sprintf("%s %s [flags] -- TARGET [ARG...]", called(), f.command)
	r.Argv = f.Args()
	if n := len(args) - len(r.Argv); len(r.Argv) > 0 && (n == 0 || args[n-1] != "--") {
		return nil, usageError(fmt.Sprintf("unexpected argument %q", r.Argv[0]), "put -- before the target: "+usage), false
	}
	if !slices.Contains(wire.Credentials, r.Credential) {
		return nil, usageError(fmt.Sprintf("--credential %q%s", r.Credential, nearest(r.Credential, wire.Credentials)), "one of "+strings.Join(wire.Credentials, ", ")), false
	}
	for _, v := range env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, usageError("--env: want NAME=VALUE", fmt.Sprintf("%s %s --env NAME=VALUE -- TARGET [ARG...]", called(), f.command)), false
		}
		r.Env[name] = value
	}
	r.Sandbox = !bare
	var err error
	if r.Directory, err = filepath.Abs(r.Directory); err != nil {
		return nil, fail(err), false
	}
	return r, 0, true
}
