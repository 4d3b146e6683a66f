package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host"
	"hostshim/host/wire"
)

// launchRequest reads the flags that say what to launch, of a command that does. It is done when ok is false.
func (f *flags) launchRequest(prefix string, args []string) (r *host.Request, code int, ok bool) {
	r = &host.Request{SessionID: host.NewSessionID(prefix), Kind: wire.KindPty, Env: map[string]string{}, Sandbox: true}
	if f.command == "run" {
		r.Kind = wire.KindRun
	}
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
	dir, err := filepath.Abs(r.Directory)
	if err != nil {
		return nil, f.refuse(r, wire.InvalidSpec, fmt.Errorf("directory %q: %w: name another with --dir", r.Directory, err)), false
	}
	r.Directory = dir
	return r, 0, true
}

// pathFlag is a flag that may be given several times, each with a path as a template's entries have it; one of this folder is
// made absolute. An ending / stays: it says that a missing one is a folder.
func (f *flags) pathFlag(to *[]string, name, usage string) {
	f.Func(name, usage, func(v string) error {
		if v == "" {
			return errors.New("want a path")
		}
		if v != "~" && !strings.HasPrefix(v, "~/") && !filepath.IsAbs(v) {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			v = dir + "/" + v
		}
		*to = append(*to, v)
		return nil
	})
}

// refuse refuses a launch that no host has seen yet, with an audit row where the state folder is known.
func (f *flags) refuse(r *host.Request, code string, cause error) int {
	err := &wire.Error{Code: code, Message: cause.Error()}
	if places, _ := f.places(""); places.State != "" {
		host.New(host.Config{Places: places, Warn: warn}).Refused(r, err)
	}
	return fail(err)
}
