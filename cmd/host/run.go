package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hostshim/host"
)

func run(args []string) int {
	f := newFlags("run")
	r := &host.Request{SessionID: host.NewSessionID("run"), Env: map[string]string{}, Sandbox: true}
	var shimPath string
	var bare bool
	f.StringVar(&r.TemplateID, "template", "claude-code", "`ID` of the template that says what the session may reach")
	f.StringVar(&r.Directory, "dir", ".", "`DIR` in which the target starts and works")
	f.StringVar(&r.Credential, "credential", host.CredentialAuto, "`KIND` of credential on descriptor 5: auto, token, pairing or none")
	f.StringVar(&shimPath, "shim", "", "`PATH` of the shim (default beside this program)")
	f.BoolVar(&bare, "no-sandbox", false, "run the target unconfined, without a credential")
	f.Func("env", "`NAME=VALUE` for the target's environment; may be given several times", func(v string) error {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return errors.New("want NAME=VALUE")
		}
		r.Env[name] = value
		return nil
	})
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
	r.Sandbox = !bare
	var err error
	if r.Directory, err = filepath.Abs(r.Directory); err != nil {
		return fail(err)
	}
	h, err := f.open(shimPath)
	if err != nil {
		return fail(err)
	}
	status, ended, err := h.Run(r)
	if err != nil {
		return fail(err)
	}
	if ended == syscall.SIGINT {
		// A ^C ended the target: end by it too, so that a script around this ends as well (S18).
		signal.Reset(ended)
		syscall.Kill(os.Getpid(), ended)
	}
	return status
}
