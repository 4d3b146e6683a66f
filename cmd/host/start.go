package main

import (
	"fmt"
	"os"

	"hostshim/host"
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
	h, err := f.open("")
	if err != nil {
		return fail(err)
	}
	c, err := f.client()
	if err != nil {
		return fail(err)
	}
	// A template of the person's own may say that it runs unconfined; a request says it itself.
	settings, _, err := host.LoadSettings(h.Places.Settings, h.Places.Named)
	if err != nil {
		return fail(err)
	}
	if t, err := settings.Template(r.TemplateID); err == nil && !t.Sandboxed() {
		r.Sandbox = false
	}
	r.Kind, r.Name = host.KindPty, name
	r.Cols, r.Rows = terminalSize(os.Stdin)
	if term, given := os.Getenv("TERM"), r.Env["TERM"]; given == "" && term != "" {
		r.Env["TERM"] = term // that of who looks at the session, not the host's
	}
	v, err := c.Launch(r)
	if err != nil {
		return fail(err)
	}
	if attachTo {
		return attachSession(c, v.SessionID, defaultDetach)
	}
	fmt.Println(v.SessionID)
	return 0
}
