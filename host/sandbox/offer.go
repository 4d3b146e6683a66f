package sandbox

import "slices"

// Offers says whether a person may be told how to grant the folder or file at path: the session cannot open it, nothing keeps
// it closed on purpose, and no session could have made a link on the way. What programs need is a guess from what a project
// says, so a denied or private place is never named for its sake (X19).
func (p *Profile) Offers(path string, write bool) bool {
	if p.Opens(path, write) {
		return false
	}
	b := &builder{rules: p.rules, spec: p.spec, planned: map[string]bool{}}
	b.sys = system.once().with(b.planned, p.spec.GOOS == "darwin")
	if home, err := b.locate(p.spec.Home); err == nil {
		b.home = home.real
	}
	b.private = nil
	b.findPrivate() // also those that make no difference to this session
	at, err := b.locate(path)
	if err != nil || at.missing != "" {
		return false
	}
	g := grant{place: at, kind: file, write: write, from: fromTemplate}
	if at.node.isDir() {
		g.kind = folder
	}
	kept := p.spec.Kept
	own := kept != "" && (within(g.real, kept) || within(kept, g.real))
	runs := func(d denied) bool { return write && d.readOnly && within(g.real, d.real) }
	return b.closedTo(g) == "" && !own && !slices.ContainsFunc(b.private, runs)
}
