package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
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
	p.text("; It finds names on a whole volume, whatever may be read.\n")
	p.rule("deny file-search")
	p.waysOut()
	p.system(r)
	p.devices()
	p.grants(r)
	p.ancestors(r)
	p.network(r)
	p.private(r)
	p.denies(r)
	p.last(r)
	return []byte(p.buf.String()), p.err
}

// To clone makes a copy, so whoever may read may clone. To link makes a second name, which needs the right to write.
const (
	readOps  = "file-read* file-clone"
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

// grants opens what was granted by name, in groups that say why.
func (p *profile) grants(r *rules) {
	for _, group := range []struct {
		from  origin
		title string
	}{
		{fromSystem, "The session's terminal."},
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
		if !slices.Contains(darwinLinks, link) {
			links = append(links, p.filter("literal", link))
		}
	}
	// Programs replace a file by writing another beside it and renaming that.
	if g.kind == file && g.write && g.from == fromTemplate {
		own = append(own, p.regex(companions(g.real)))
	}
	return own, links
}

// ancestors lets the way to each grant be walked and looked at, but not listed.
func (p *profile) ancestors(r *rules) {
	granted := slices.Concat(darwinSubtrees(), []string{r.tools})
	paths := slices.Concat(granted, darwinFiles, darwinOpened())
	for _, g := range r.grants {
		if g.kind == folder {
			granted = append(granted, g.real, g.spelled)
		}
		paths = append(paths, g.real, g.spelled)
		paths = append(paths, g.links...)
	}
	known := func(dir string) bool {
		in := func(folder string) bool { return within(dir, folder) }
		return slices.Contains(darwinLinks, dir) || slices.ContainsFunc(granted, in) && !slices.ContainsFunc(darwinClosed, in)
	}
	var way []string
	for _, path := range paths {
		way = append(way, slices.DeleteFunc(above(path), known)...)
	}
	p.text("\n; The way to what is granted.\n")
	p.rule("allow file-read-metadata", p.each("literal", sorted(way))...)
	if r.above != "" {
		p.text("; The target's program lists the folders above the working directory, and stops where it cannot.\n")
		p.some("allow file-read-data", p.each("literal", sorted(above(r.above))))
	}
}

// above is every folder around path but the root.
func above(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
