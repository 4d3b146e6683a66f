package sandbox

import (
	"fmt"
	"slices"
)

// refuseTurnable refuses a template entry that leads through a link which this very session could turn:
// it would point it at something else, and the next launch would grant that. The link's whole way counts,
// for a folder that can be written can be moved. An optional entry is left out instead.
func (b *builder) refuseTurnable() error {
	kept := make([]grant, 0, len(b.grants))
	for _, g := range b.grants {
		link, in := b.turnable(g)
		if link != "" && !g.optional {
			return fmt.Errorf("grant of %q: the session could turn its link %q, which lies in %q: name what the link leads to",
				g.spelled, link, in)
		}
		if link == "" {
			kept = append(kept, g)
		}
	}
	b.grants = kept
	return nil
}

// turnable is the link on a template entry's way that the session could turn, and the granted folder it lies in.
func (b *builder) turnable(g grant) (link, in string) {
	if g.from != fromTemplate {
		return "", ""
	}
	for _, link := range g.links {
		for _, w := range b.grants {
			if w.write && w.kind == folder && below(link, w.real) {
				return link, w.real
			}
		}
	}
	return "", ""
}

// refuseMade refuses a grant that leads through a link which an earlier session could have made: the person who names the
// place may know nothing of the link (X15). An optional entry is left out instead.
func (b *builder) refuseMade() error {
	var err error
	b.grants = slices.DeleteFunc(b.grants, func(g grant) bool {
		link := ""
		if g.from == fromTemplate || g.from == fromSession {
			link = madeLink(g.links, b.spec.Granted)
		}
		if link != "" && !g.optional && err == nil {
			err = fmt.Errorf("grant of %q: a session could have made its link %q, which leads to %q: name what the link leads to",
				g.spelled, link, g.real)
		}
		return link != ""
	})
	return err
}

// everWritten are folders that every session may write, and so make links in.
var everWritten = []string{"/dev/shm"}

// madeLink is the first link that lies in a folder which a session was granted for writing; "": none does.
func madeLink(links, granted []string) string {
	for _, link := range links {
		in := func(folder string) bool { return below(link, folder) }
		if slices.ContainsFunc(granted, in) || slices.ContainsFunc(everWritten, in) {
			return link
		}
	}
	return ""
}
