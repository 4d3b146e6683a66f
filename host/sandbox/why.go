package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Answer says whether a session could use a path, and what decides (U03). The path's own permissions count beside it.
type Answer struct {
	Path    string `json:"path"` // with its links followed
	Missing bool   `json:"missing,omitempty"`
	Could   bool   `json:"could"`
	By      string `json:"by"`            // what decides
	Key     string `json:"key,omitempty"` // of a template: what would change it; "": nothing does
	Value   string `json:"value,omitempty"`
	KeptOut bool   `json:"kept_out,omitempty"` // could, but its own permissions refuse this user, in a session or not
}

// Grant is a path that a session may use, and for whose sake.
type Grant struct {
	Path  string `json:"path"`
	Write bool   `json:"write,omitempty"`
	From  string `json:"from"` // system, session, program or template
}

var origins = [...]string{fromSystem: "system", fromSession: "session", fromProgram: "program", fromTemplate: "template"}

// Grants lists what the session may use; its temporary folder, which has another name each time, is left out.
func (p *Profile) Grants() (all []Grant) {
	for _, g := range p.rules.grants {
		if g.from != fromSession || g.real != p.rules.temp {
			all = append(all, Grant{g.real, g.write, origins[g.from]})
		}
	}
	return all
}

// Why says whether the session could read the path, or write it. It judges by the rules that the profile was rendered from.
func (p *Profile) Why(path string, write bool) (Answer, error) {
	b := &builder{rules: p.rules, spec: p.spec, planned: map[string]bool{}}
	b.sys = system.once().with(b.planned, p.spec.GOOS == "darwin")
	at, err := b.locate(path)
	if errors.Is(err, fs.ErrPermission) {
		err = nil // as far as it got: who may not look further can still be told what is granted
	}
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Path: at.real, Missing: at.missing != ""}
	for _, step := range []func(*Answer, place, bool) bool{b.whyDenied, b.whyProtected, b.whyListed, b.whyGranted, b.whySystem, b.whyPrivate} {
		if step(&a, at, write) {
			return a, nil
		}
	}
	a.By, a.Key, a.Value = "nothing grants it", "read", path
	if write {
		a.Key = "read_write"
		if could := a; b.whyGranted(&could, at, false) {
			a.By = "it can be read only: " + could.By
		}
	}
	return a, nil
}

func (b *builder) whyDenied(a *Answer, at place, _ bool) bool {
	for _, d := range b.denies {
		if !d.link && within(at.real, d.real) {
			a.By = fmt.Sprintf("%q is %s", d.spelled, d.why)
			if d.why == whyHost {
				a.By = fmt.Sprintf("%q is closed to every session: %s", d.spelled, d.why)
			} else {
				a.Key, a.Value = "deny", d.spelled
			}
			return true
		}
	}
	return false
}

func (b *builder) whyProtected(a *Answer, at place, write bool) bool {
	in := func(path string) bool { return within(at.real, path) }
	if !write || !slices.ContainsFunc(b.protect, in) {
		return false
	}
	a.By, a.Key, a.Value = "your own tools run unasked what is there", "protect", "false"
	return true
}

// whyListed: a folder around what is denied takes no new names on Linux (X06).
func (b *builder) whyListed(a *Answer, at place, write bool) bool {
	if !write || b.spec.GOOS != "linux" || at.missing == "" && !at.node.isDir() {
		return false
	}
	dir := at.real
	if at.missing != "" {
		dir = filepath.Dir(at.missing)
	}
	for _, d := range slices.Concat(b.denies, b.private) {
		for _, g := range b.grants {
			if g.write && g.kind == folder && below(d.real, g.real) && slices.Contains(d.listed(g.real), dir) {
				a.By = fmt.Sprintf("%q takes no new files, since it holds %q (%s)", dir, d.spelled, d.why)
				return true
			}
		}
	}
	return false
}

// whyGranted takes the narrowest grant that opens the path: one around a private place does not open that (X16).
func (b *builder) whyGranted(a *Answer, at place, write bool) bool {
	var best *grant
	for i, g := range b.grants {
		if within(at.real, g.real) && (g.kind == folder || g.real == at.real) && (g.write || !write) && b.closedIn(g, at.real, write) == nil &&
			(best == nil || len(g.real) > len(best.real)) {
			best = &b.grants[i]
		}
	}
	if best == nil {
		return false
	}
	a.Could, a.By = true, best.because()
	return true
}

// because says for whose sake a grant is there.
func (g *grant) because() string {
	switch {
	case g.from == fromSystem:
		return fmt.Sprintf("every session has %q", g.real)
	case g.from == fromSession:
		return fmt.Sprintf("%q is the session's own folder", g.spelled)
	case g.from == fromProgram:
		return fmt.Sprintf("the program needs %q", g.spelled)
	case g.write:
		return fmt.Sprintf("read_write of the template has %q", g.spelled)
	}
	return fmt.Sprintf("read of the template has %q", g.spelled)
}

// closedIn is the private place that g does not open although it is around it; nil: none is in the way.
func (b *builder) closedIn(g grant, path string, write bool) *denied {
	for i, d := range b.private {
		if !d.link && within(path, d.real) && !within(g.real, d.real) && (write || !d.readOnly) {
			return &b.private[i]
		}
	}
	return nil
}

// whyPrivate says which private place keeps the path closed.
func (b *builder) whyPrivate(a *Answer, at place, write bool) bool {
	for _, g := range b.grants {
		if !within(at.real, g.real) || write && !g.write {
			continue
		}
		if d := b.closedIn(g, at.real, write); d != nil {
			a.By, a.Key, a.Value = fmt.Sprintf("%q stays closed in what is granted around it (%s)", d.spelled, d.why), "read", d.spelled
			if write {
				a.Key = "read_write"
			}
			return true
		}
	}
	return false
}

// whySystem: on macOS what every session has is fixed text, and no grant.
func (b *builder) whySystem(a *Answer, at place, write bool) bool {
	if b.spec.GOOS != "darwin" {
		return false
	}
	in := func(dir string) bool { return within(at.real, dir) }
	device := slices.Contains(darwinDevices, at.real)
	closed := slices.ContainsFunc(darwinClosed, in) && !slices.Contains(darwinOpened(), at.real)
	a.Could = device || !write && !closed && (slices.ContainsFunc(darwinSubtrees(), in) || slices.Contains(darwinFiles, at.real) ||
		slices.Contains(darwinOpened(), at.real) || slices.Contains(darwinLinks, at.real) || within(at.real, b.tools))
	if a.Could {
		a.By = "every session has it"
	}
	return a.Could
}
