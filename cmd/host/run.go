package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hostshim/host"
)

const runMore = `
With no TARGET the template's own command runs.

exit status: the target's own, or 128 + signal; 127 not found, 126 cannot start; 78 the launch was refused;
70 usage error.

example: host run --template shell --env LANG=C -- make test
`

func run(args []string) int {
	f := newFlags("run")
	r := &host.Request{SessionID: host.NewSessionID("run"), Env: map[string]string{}, Sandbox: true}
	var shimPath string
	var bare bool
	f.StringVar(&r.TemplateID, "template", "claude-code", "`ID` template: what runs, and what it may reach (default claude-code)")
	f.StringVar(&r.Directory, "dir", ".", "`DIR` where the target starts and works (default: here)")
	f.StringVar(&r.Credential, "credential", host.CredentialAuto, "`KIND` on descriptor 5: auto (as the template says), token, pairing or none")
	f.StringVar(&shimPath, "shim", "", "`PATH` the shim (default: the one beside this program)")
	f.BoolVar(&bare, "no-sandbox", false, "run the target unconfined, without a credential")
	var env []string
	f.Func("env", "`NAME=VALUE` for the target's environment; may be given several times", func(v string) error {
		env = append(env, v) // read below: an error here would print the value
		return nil
	})
	f.more = runMore
	if code, ok := f.parse(args, -1); !ok {
		return code
	}
	r.Argv = f.Args()
	if n := len(args) - len(r.Argv); len(r.Argv) > 0 && (n == 0 || args[n-1] != "--") {
		return usageError(fmt.Sprintf("unexpected argument %q", r.Argv[0]), "put -- before the target: host run [flags] -- TARGET [ARG...]")
	}
	if kinds := []string{host.CredentialAuto, host.CredentialToken, host.CredentialPairing, host.CredentialNone}; !slices.Contains(kinds, r.Credential) {
		return usageError(fmt.Sprintf("--credential %q", r.Credential), "one of "+strings.Join(kinds, ", "))
	}
	for _, v := range env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return usageError("--env: want NAME=VALUE", "host run --env NAME=VALUE -- TARGET [ARG...]")
		}
		r.Env[name] = value
	}
	r.Sandbox = !bare
	var err error
	if r.Directory, err = filepath.Abs(r.Directory); err != nil {
		return fail(err)
	}
	h, err := f.open(shimPath)
	if err != nil {
		return fail(err)
	}
	end, err := h.Run(r)
	if err != nil {
		return fail(err)
	}
	if end.Missing != "" {
		hint(fmt.Sprintf("template %q runs %q: install that, or name a target: host run -- TARGET [ARG...]", r.TemplateID, end.Missing))
	}
	if end.Signal == syscall.SIGINT || end.Signal == syscall.SIGQUIT {
		// The terminal's key ended the target: end by it too, so that a script around this ends as well (S18).
		signal.Reset(end.Signal)
		syscall.Kill(os.Getpid(), end.Signal)
	}
	return end.Status
}
