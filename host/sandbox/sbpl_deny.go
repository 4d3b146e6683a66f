package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// private closes the private places that lie in a grant, and opens again what is granted inside them. The last
// rule decides, so a private place inside of that is closed once more.
func (p *profile) private(r *rules) {
	places := r.private
	if len(places) > 0 {
		p.text("\n; Private places: what is granted around them does not open them.\n")
	}
	for len(places) > 0 {
		c := p.closing(places)
		p.some("deny "+allOps, c.closed)
		p.some("deny file-write* file-link", c.readOnly)
		p.closeNames(c)
		inside := func(path string) bool {
			return slices.ContainsFunc(places, func(d denied) bool { return !d.link && within(path, d.real) })
		}
		again := slices.DeleteFunc(slices.Clone(r.grants), func(g grant) bool { return !inside(g.real) })
		p.reopen(again, inside)
		places = slices.DeleteFunc(slices.Clone(places), func(d denied) bool {
			return !slices.ContainsFunc(again, func(g grant) bool { return g.kind == folder && below(d.real, g.real) })
		})
	}
}

// reopen grants what lies in a closed place, and the way to it as far as that is closed.
func (p *profile) reopen(grants []grant, closed func(string) bool) {
	var way []string
	for _, g := range grants {
		way = append(way, slices.DeleteFunc(above(g.real), func(dir string) bool { return !closed(dir) })...)
	}
	p.some("allow file-read-metadata", p.each("literal", sorted(way)))
	read, write := p.openings(grants)
	p.some("allow "+readOps, read)
	p.some("allow "+writeOps, write)
}

// denies closes what stays closed, last.
func (p *profile) denies(r *rules) {
	if len(r.denies) == 0 {
		return
	}
	c := p.closing(r.denies)
	p.text("\n; Denied, whatever is granted.\n")
	p.rule("deny "+allOps, c.closed...)
	p.rule("deny network-outbound", c.sockets...)
	p.closeNames(c)
}

// closing is what a list of denied places takes, each member the filters of one rule.
type closing struct {
	closed, readOnly, sockets []string
	kept, create, pins        []string // of names that must not be made, or moved
}

// closing puts denied places into filters. A rule names a path, not what is there: so the folders above are pinned
// in their places, or a renamed or cloned one would show it under another name.
func (p *profile) closing(denies []denied) (c closing) {
	var pins []string
	for _, d := range denies {
		if d.link {
			c.kept = append(c.kept, p.filter("literal", d.real))
			pins = append(pins, above(d.real)...)
			continue
		}
		to := &c.closed
		if d.readOnly {
			to = &c.readOnly
		}
		for _, path := range sorted([]string{d.real, d.spelled}) {
			*to = append(*to, p.filter("subpath", path))
			c.sockets = append(c.sockets, "(remote unix-socket "+p.filter("subpath", path)+")")
			pins = append(pins, above(path)...)
		}
		if d.missing == "" {
			continue
		}
		there := filepath.Dir(d.missing)
		from := len(strings.TrimSuffix(there, "/"))
		*to = append(*to, p.regex(anyCase(d.real, from, "(/|$)")))
		c.create = append(c.create, p.otherSpellings(there, d.odd))
		if d.missing != d.real {
			c.kept = append(c.kept, p.regex(anyCase(d.missing, from, "$")))
		}
	}
	c.pins = p.each("literal", sorted(pins))
	for _, list := range []*[]string{&c.closed, &c.readOnly, &c.sockets, &c.kept, &c.create} {
		*list = sorted(*list)
	}
	return c
}

// otherSpellings is the filter for new names in dir that are not all ASCII. Folders with such names that are there
// already go on as they were.
func (p *profile) otherSpellings(dir string, odd []string) string {
	filter := "(require-all " + p.filter("subpath", dir) + "\n    (require-not " + p.regex(plainNames(dir)) + ")"
	for _, name := range odd {
		filter += "\n    (require-not " + p.filter("subpath", filepath.Join(dir, name)) + ")"
	}
	return filter + ")"
}

// closeNames keeps other names from leading to what is closed.
func (p *profile) closeNames(c closing) {
	if len(c.kept)+len(c.create) > 0 {
		p.text("; Names on the way that must not be made, or made anew.\n")
	}
	p.some("deny file-write*", c.kept)
	p.some("deny file-write-create", c.create)
	p.text("; Renamed or cloned, a folder above would show what it holds under another name.\n")
	p.some("deny file-write-unlink file-clone", c.pins)
}
