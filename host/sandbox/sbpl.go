package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostshim/shim"
)

// renderSBPL writes the profile that sandbox-exec applies. In SBPL the last rule that matches decides:
// first everything is closed, then come the grants, then what stays closed.
func renderSBPL(r *rules) ([]byte, error) {
	var p profile
	p.text("(version 1)\n")
	p.text("; What is not a file is as it would be without a sandbox. Of files, nothing to begin with.\n")
	p.rule("allow default")
	p.rule("deny file-read* file-write*")
	p.text("; Neither is part of file-write*, and each makes a second name for what is closed.\n")
	p.rule("deny file-link file-clone")
	p.system(r)
	p.grants(r)
	p.ancestors(r)
	p.network(r)
	p.private(r)
	p.denies(r)
	p.text("\n; Programs that would gain rights.\n")
	p.rule("deny process-exec*", "(require-any (file-mode #o4000) (file-mode #o2000))")
	return []byte(p.buf.String()), p.err
}

const (
	readOps  = "file-read*"
	writeOps = "file-read* file-write* file-link file-clone"
	allOps   = "file-read* file-write* file-link file-clone process-exec*"
)

// profile is SBPL text in the making, and the first thing that could not be said in it.
type profile struct {
	buf strings.Builder
	err error
}

func (p *profile) text(s string) { p.buf.WriteString(s) }

// rule writes one rule, a filter a line. A rule without filters matches everything.
func (p *profile) rule(head string, filters ...string) {
	p.text("(" + head)
	for _, f := range filters {
		p.text("\n  " + f)
	}
	p.text(")\n")
}

// some writes a rule only if it has filters: without them it would match everything.
func (p *profile) some(head string, filters []string) {
	if len(filters) > 0 {
		p.rule(head, filters...)
	}
}

func (p *profile) filter(name, path string) string {
	s, err := quoteSBPL(path)
	p.note(err)
	return "(" + name + " " + s + ")"
}

func (p *profile) regex(s string, err error) string {
	p.note(err)
	return "(regex " + s + ")"
}

func (p *profile) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *profile) each(name string, paths []string) []string {
	var filters []string
	for _, path := range paths {
		filters = append(filters, p.filter(name, path))
	}
	return filters
}

// system opens what every session reads. It comes before the templates' grants, which may open again what
// is closed here.
func (p *profile) system(r *rules) {
	p.text("\n; Every session reads the system and the command-line tools.\n")
	filters := p.each("literal", darwinLiterals)
	filters = append(filters, p.each("subpath", darwinSubtrees)...)
	p.rule("allow "+readOps, append(filters, p.filter("subpath", r.tools))...)
	p.rule("deny file-read* file-write*", p.each("subpath", darwinClosed)...)
	p.rule("allow "+readOps, p.each("literal", darwinOpened)...)
}

// grants opens what was granted by name, in groups that say why.
func (p *profile) grants(r *rules) {
	for _, group := range []struct {
		from  origin
		title string
	}{
		{fromSystem, "Every session's devices and the system's own temporary folder."},
		{fromProgram, "The target's program and what it needs to start."},
		{fromSession, "The session's own folders."},
		{fromTemplate, "What the template grants."},
	} {
		read, write := p.openings(slices.DeleteFunc(slices.Clone(r.grants), func(g grant) bool { return g.from != group.from }))
		if len(read)+len(write) == 0 {
			continue
		}
		p.text("\n; " + group.title + "\n")
		p.some("allow "+readOps, read)
		p.some("allow "+writeOps, write)
	}
}

// openings are the filters of what grants open, to read and to write.
func (p *profile) openings(grants []grant) (read, write []string) {
	for _, g := range grants {
		own, links := p.grant(g)
		if g.write {
			write = append(write, own...)
		} else {
			read = append(read, own...)
		}
		read = append(read, links...)
	}
	return sorted(read), sorted(write)
}

// grant is one grant's filters, in both its spellings, and those that make the links on its way readable.
// A link itself is never granted for writing: the next launch would follow it.
func (p *profile) grant(g grant) (own, links []string) {
	name := "literal"
	if g.kind == folder {
		name = "subpath"
	}
	own = append(own, p.filter(name, g.real))
	if g.spelled != g.real && !g.turns {
		own = append(own, p.filter(name, g.spelled))
	}
	if g.spelled != g.real && g.turns {
		links = append(links, p.filter(name, g.spelled))
	}
	for _, link := range g.links {
		if !slices.Contains(darwinLiterals, link) {
			links = append(links, p.filter("literal", link))
		}
	}
	// Programs replace a file by writing another beside it and renaming that.
	if g.kind == file && g.write && g.from == fromTemplate {
		own = append(own,
			p.filter("literal", g.real+".lock"),
			p.filter("prefix", g.real+".tmp."),
			p.filter("literal", g.real+".backup"))
	}
	return own, links
}

// ancestors lets the way to each grant be walked and looked at, but not listed.
func (p *profile) ancestors(r *rules) {
	granted := slices.Concat(darwinSubtrees, []string{r.tools})
	paths := slices.Clone(granted)
	for _, g := range r.grants {
		if g.kind == folder {
			granted = append(granted, g.real, g.spelled)
		}
		paths = append(paths, g.real, g.spelled)
		paths = append(paths, g.links...)
	}
	var way []string
	for _, path := range paths {
		for _, dir := range above(path) {
			if !slices.Contains(darwinLiterals, dir) && !slices.ContainsFunc(granted, func(g string) bool { return within(dir, g) }) {
				way = append(way, dir)
			}
		}
	}
	for _, path := range darwinOpened { // lies in what system closed again inside /usr
		way = append(way, slices.DeleteFunc(above(path), func(dir string) bool {
			return !slices.ContainsFunc(darwinClosed, func(c string) bool { return within(dir, c) })
		})...)
	}
	p.text("\n; The way to what is granted.\n")
	p.some("allow file-read-metadata", p.each("literal", sorted(way)))
}

// above is every folder around path but the root.
func above(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// network closes all but the model proxy (X09): one loopback port, and the sockets that a template names.
func (p *profile) network(r *rules) {
	if r.network != shim.NetworkModel {
		return
	}
	p.text("\n; Of the network, the model proxy and the sockets that the template grants.\n")
	p.rule("deny network*")
	filters := []string{`(remote tcp "localhost:` + strconv.Itoa(r.port) + `")`}
	for _, g := range r.grants {
		if g.kind == socket {
			filters = append(filters, "(remote unix-socket "+p.filter("subpath", g.real)+")")
		}
	}
	p.rule("allow network-outbound", filters...)
}
