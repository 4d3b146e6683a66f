package main

import (
	"fmt"
	"os"

	"hostshim/host/settings"
	"hostshim/host/wire"
)

const startMore = `
With no TARGET the template's own command runs. The session gets a terminal, and lives on when this ends.

example: host attach "$(host start -- claude)"
`

func start(args []string) int {
	f := newFlags("start")
	var attachTo bool
	f.BoolVar(&attachTo, "attach", false, "attach to the session at once")
	var name string
	f.StringVar(&name, "name", "", "`TEXT` for host ps")
	f.bearerFlag()
	f.more = startMore
	r, code, ok := f.launchRequest("s", args)
	if !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return f.refuse(r, wire.SandboxUnavailable, err)
	}
	c, err := f.client()
	if err != nil {
		return fail(err)
	}
	// A template of the person's own may say that it runs unconfined; a request says it itself.
	set, _, err := settings.Load(places.Settings, places.Named)
	if err != nil {
		return f.refuse(r, wire.SandboxUnavailable, err)
	}
	if t, err := set.Template(r.TemplateID); err == nil && !t.Sandboxed() {
		r.Sandbox = false
	}
	if term, given := os.Getenv("TERM"), r.Env["TERM"]; given == "" && term != "" {
		r.Env["TERM"] = term // that of who looks at the session, not the host's
	}
	request := wire.Launch{Version: 1, SessionID: r.SessionID, Kind: wire.KindPty, Directory: r.Directory, Name: name,
		TemplateID: r.TemplateID, Argv: r.Argv, Env: r.Env, Credential: r.Credential, ByHand: true}
	request.Terminal.Cols, request.Terminal.Rows = terminalSize(os.Stdin)
	if r.Sandbox {
		request.Sandbox = &struct{}{}
	}
	v, err := c.Launch(request)
	if err != nil {
		return fail(err)
	}
	if attachTo {
		return attachSession(c, v, defaultDetach)
	}
	fmt.Println(v.SessionID)
	return 0
}
