package doctor

import (
	"cmp"
	"fmt"
	"os"
	"runtime"

	"hostshim/host"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
)

// lookAtTemplate says what would stop the launches of one template (U03): its command, what its entries lead to, and whether
// the agent in it is whole. What an entry names and is not there is left out of a launch, and so is a warning. A built-in
// template is there whether or not anybody installed its program: that is a warning too.
func lookAtTemplate(set *settings.Settings, t settings.Template) (wrong []error, warnings []string) {
	name := fmt.Sprintf("template %q: ", t.ID)
	builtIn := set.BuiltIn(t.ID)
	filled, err := set.Expand(t, "/", "")
	if err != nil {
		return []error{err}, nil
	}
	path := cmp.Or(filled.Env["PATH"], os.Getenv("PATH"))
	program := host.FindProgram(filled.Command, path, "/")
	info, err := os.Stat(program)
	missing := program == "" || err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0
	switch text := fmt.Sprintf("%sno program %q in PATH: install it, or change its command", name, filled.Command); {
	case missing && builtIn:
		if t.Agent != nil && t.Agent.Command != settings.Claude.Command {
			break // one of several agents, of which few have all
		}
		warnings = append(warnings, fmt.Sprintf("%sno program %q in PATH: install it, or name a TARGET", name, filled.Command))
	case missing:
		wrong = append(wrong, fmt.Errorf("%s", text))
	default:
		if installer := settings.Claude.HalfInstalled(program); t.Agent != nil && installer != "" {
			wrong = append(wrong, fmt.Errorf("%s%s was installed without its set-up: node %s", name, program, installer))
		}
	}
	wrong = append(wrong, lookAtServices(set, t)...)
	if !t.Sandboxed() {
		return wrong, warnings
	}
	bad, absent := sandbox.CheckEntries(sandbox.Spec{GOOS: runtime.GOOS, Home: host.HomeFolder(), Read: t.Read, ReadWrite: t.ReadWrite, Deny: t.Deny})
	for _, err := range bad {
		wrong = append(wrong, fmt.Errorf("%s%w", name, err))
	}
	for _, entry := range absent {
		warnings = append(warnings, name+entry+" is not there, and is left out")
	}
	return wrong, warnings
}

// lookAtServices says which services a template names that there are not. A file that cannot be used is found with the others.
func lookAtServices(set *settings.Settings, t settings.Template) (wrong []error) {
	for _, id := range t.Services {
		if access, err := set.ServiceAccess(id); access.Upstream == "" {
			wrong = append(wrong, fmt.Errorf("template %q: services: %w", t.ID, err))
		}
	}
	return wrong
}
