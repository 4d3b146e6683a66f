package host

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host/protect"
	"hostshim/host/settings"
)

// planProtection takes the fingerprint of what the user's own tools run unasked in the folders that the session may write,
// and closes it for writing where the session has a network, and so mounts, of its own (X17).
func (h *Host) planProtection(p *Plan, t settings.Template) error {
	if !p.Sandboxed || !t.Protected() {
		return nil
	}
	if p.profile != nil {
		p.watched = slices.Clone(p.profile.Writable)
	} else if real, err := filepath.EvalSymlinks(p.request.Directory); err == nil {
		p.watched = []string{real} // what else the caller's profile grants is the caller's to know
	}
	// The host's folders for the template are there for the session to write, and no tool of the user's reads them.
	for _, own := range []string{p.config, p.cache} {
		own = realPath(own)
		p.watched = slices.DeleteFunc(p.watched, func(folder string) bool { return folder == own })
	}
	p.before = h.look(p)
	if p.profile == nil || !p.ownNetwork() {
		return nil
	}
	if err := p.profile.Protect(p.before.Paths()); err != nil {
		return unavailable(err)
	}
	return nil
}

// realPath is path without links. Its end may be missing: a configuration folder is made by its first launch.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil && filepath.Dir(path) != path {
		return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
	}
	return cmp.Or(real, path)
}

func (h *Host) look(p *Plan) *protect.Prints {
	home := HomeFolder()
	return protect.Look(p.watched, home)
}

// Of what a session changed, so many are named.
const (
	maxWarned  = 10
	maxAudited = 100
)

// changed compares at the end, warns of what is new or changed, and returns it for the audit row.
func (r *Running) changed() []string {
	p := r.Plan
	if p.before == nil {
		return nil
	}
	list := p.before.Changed(r.host.look(p))
	if len(list) == 0 {
		return nil
	}
	who := "the session"
	if r.host.config.Served {
		who += " " + p.request.SessionID
	}
	r.host.config.Warn(fmt.Sprintf("%s left new or changed what your own tools run unasked: %s: look at it before you go on",
		who, strings.Join(firstOf(list, maxWarned), "; ")))
	return firstOf(list, maxAudited)
}

// firstOf cuts a list, and says how much is left out.
func firstOf(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
