package sandbox

import (
	"fmt"
	"slices"
)

// Named is a file or folder that a person's own configuration has programs read (X19).
type Named struct {
	Path string // absolute, or ~/…
	By   string // what names it, for people
	Kind NamedKind
	Deep int // by how many files, one naming the other
}

// NamedKind is what is expected of something named.
type NamedKind int

const (
	NamedOther        NamedKind = iota
	NamedCertificates           // a file of certificates, or a folder of such files
	NamedConfig                 // a configuration file, which names more
	NamedIfGranted              // the same, if something else grants it: it is not granted itself
)

const maxNamed = 200 // files and folders looked at

// named grants what the person's configuration names, for reading. Convenience never opens what is closed: what is denied,
// private, or reached through a link that a session could have made, is left out with one warning.
func (b *builder) named() error {
	// The same holds for what a built-in template reads where it is there: nobody named that either.
	b.grants = slices.DeleteFunc(b.grants, func(g grant) bool { return g.optional && b.closedTo(g) != "" })
	seen := map[string]bool{}
	all := slices.Clone(b.spec.Named)
	for i := 0; i < len(all) && i < maxNamed; i++ {
		n := all[i]
		p, err := b.locate(n.Path)
		if err != nil || p.missing != "" || seen[p.real] {
			continue // programs do without what is not there
		}
		seen[p.real] = true
		g := grant{place: p, kind: file, from: fromTemplate, optional: true}
		if p.node.isDir() {
			g.kind = folder
		}
		granted := slices.ContainsFunc(b.grants, func(o grant) bool { return o.real == p.real || o.kind == folder && b.covers(o.real, p.real) })
		if n.Kind == NamedIfGranted && !granted {
			continue
		}
		more, why := b.nameable(n, g, granted)
		switch {
		case why != "":
			b.unread = append(b.unread, fmt.Sprintf("%q (%s: %s)", p.spelled, n.By, why))
		case !granted:
			b.add(g)
		}
		all = append(all, more...)
	}
	if len(b.unread) > 0 {
		b.warnings = append(b.warnings, "your configuration names what this session cannot read: "+someOf(b.unread)+
			": a template grants a place by naming it in read")
	}
	return nil
}

// nameable says why something named is not granted, or not followed; and what it names in turn.
func (b *builder) nameable(n Named, g grant, granted bool) (more []Named, why string) {
	if !granted {
		if why = b.closedTo(g); why != "" {
			return nil, why
		}
		if kept := b.spec.Kept; kept != "" && (within(g.real, kept) || within(kept, g.real)) {
			return nil, "it holds what the host keeps for sessions"
		}
	}
	if granted && (n.Kind < NamedConfig || g.kind == file && !g.node.mode.IsRegular()) {
		return nil, "" // the second is /dev/null, as a word for none
	}
	more, why = b.spec.Inspect(n, g.real, g.kind == folder)
	if why == "" && len(more) > 0 && b.sessionWrites(g.place) {
		return nil, "a session could have written it, so what it names is not granted"
	}
	return more, why
}

// closedTo says why nothing but a template may open g.
func (b *builder) closedTo(g grant) string {
	switch {
	case g.kind == file && !g.node.mode.IsRegular():
		return "neither a file nor a folder"
	case g.real == "/" || b.home != "" && within(b.home, g.real):
		return "it holds your home folder"
	}
	for _, d := range b.denies {
		if !d.link && within(g.real, d.real) {
			return d.why
		}
	}
	for _, d := range b.private {
		if !d.link && !d.readOnly && within(g.real, d.real) {
			return d.why
		}
	}
	if link := b.sessionLink(g); link != "" {
		return fmt.Sprintf("a session could have made the link %q", link)
	}
	return ""
}

// sessionLink is a link on the way to g that this session or an earlier one could make; "": none.
func (b *builder) sessionLink(g grant) string {
	link, _ := b.turnable(g)
	if link == "" {
		link = madeLink(g.links, b.spec.Granted)
	}
	return link
}
