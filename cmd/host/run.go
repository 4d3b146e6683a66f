package main

import (
	"fmt"
	"os"
	"syscall"

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
	f.more = runMore
	r, code, ok := f.launchRequest("run", args)
	if !ok {
		return code
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
	if (end.Signal == syscall.SIGINT || end.Signal == syscall.SIGQUIT) && shim.ByDefault(end.Signal) {
		// The terminal's key ended the target: end by it too, so that a script around this ends as well (S18).
		syscall.Kill(os.Getpid(), end.Signal)
	}
	return end.Status
}
