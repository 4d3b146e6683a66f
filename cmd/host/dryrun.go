package main

import (
	"fmt"
	"os"
	"strings"

	"hostshim/host"
	"hostshim/shim"
)

// dryRun shows a launch, and makes nothing. Its exit status is that of a launch that could not happen, else 0.
func dryRun(h *host.Host, r *host.Request, asJSON bool) int {
	r.Kind, r.ByHand = "run", true
	v, err := h.Preview(r, host.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err != nil {
		return fail(err)
	}
	if asJSON {
		printJSON(v)
	} else {
		showPreview(v)
	}
	if !v.Found {
		say("error", fmt.Sprintf("%q: not found", v.Program))
		return shim.ExitNotFound
	}
	return 0
}

func showPreview(v *host.Preview) {
	showField("Template", v.TemplateID)
	showField("Program", v.Program)
	showField("Directory", v.Directory)
	showField("Credential", v.Credential)
	if !v.Sandbox {
		showField("Sandbox", "none: the program is not confined")
	} else {
		showField("Network", v.Network)
	}
	if len(v.Hosts) > 0 {
		showField("Hosts", strings.Join(v.Hosts, " "))
	}
	if len(v.Services) > 0 {
		showField("Services", strings.Join(v.Services, " "))
	}
	var system []string
	for _, g := range v.Grants {
		name := "Read"
		if g.Write {
			name = "Read and write"
		}
		if g.From == "system" {
			system = append(system, g.Path)
			continue
		}
		showField(name, fmt.Sprintf("%s (%s)", g.Path, g.From))
	}
	if v.Sandbox {
		showField("Read and write", "a temporary folder of its own")
		showField("Every session's", strings.Join(system, " "))
	}
	for _, d := range v.Closed {
		name := "Denied"
		if d.ReadOnly {
			name = "Read-only"
		}
		showField(name, fmt.Sprintf("%s (%s)", d.Path, d.Why))
	}
	for _, path := range v.Protected {
		showField("Read-only", path+" (your own tools run it unasked)")
	}
	showField("Environment", strings.Join(v.Names, " "))
}
