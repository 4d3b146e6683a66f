package host

import (
	"slices"
	"strings"

	"hostshim/host/settings"
)

// target is the program that a person named, and its arguments; nil: the template's command runs. An option is no program,
// and an agent's sub-command is meant for the agent: "-- exec …" is "-- codex exec …" in the template codex, and ours is
// true. A list of sub-commands decides it, never what PATH happens to hold: a mistyped program would be the agent's first
// prompt, and a launch would differ from machine to machine.
func (r *Request) target(t settings.Template) (argv []string, ours bool) {
	if len(r.Argv) == 0 || !r.ByHand || t.Command == "" {
		return r.Argv, len(r.Argv) == 0
	}
	first := r.Argv[0]
	if strings.HasPrefix(first, "-") || t.Agent != nil && slices.Contains(t.Agent.Subcommands, first) {
		return append([]string{t.Command}, r.Argv...), true
	}
	return r.Argv, false
}

// withOwnArgs puts the template's arguments behind the program that a person named, where they belong to it: to the
// template's command with more arguments, and to an agent's program by whatever name, since they lead it to its model.
func (h *Host) withOwnArgs(p *Plan, t settings.Template, argv []string, ours bool) []string {
	if !ours && (t.Agent == nil || !h.ownProgram(p.request, t)) {
		return argv
	}
	p.ownArgs = len(t.Args)
	return slices.Concat(argv[:1], t.Args, argv[1:])
}
