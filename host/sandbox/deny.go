package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// denied is one path that stays closed: whatever is granted, or, of a private place, whatever is granted around it.
type denied struct {
	place
	why      string
	readOnly bool // it can be read
	// link: the path is a link that leads to something denied. Its name must stay as it is: a session that could replace
	// it would choose what the next launch denies, and which file the host reads the token from.
	link bool
	// odd are the names with letters beyond ASCII that stand beside a missing part (macOS).
	odd []string
}

// denied is p as one more denied place.
func (b *builder) denied(p place, why string) denied {
	d := denied{place: p, why: why}
	if b.spec.GOOS != "darwin" || p.missing == "" {
		return d
	}
	all, _ := b.sys.names(filepath.Dir(p.missing)) // none can be seen: then none is left open
	for _, name := range all {
		if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) && quotable(name) == nil {
			d.odd = append(d.odd, name)
		}
	}
	slices.Sort(d.odd)
	return d
}

// Why something is denied, where no row of privatePlaces says it.
const (
	whyTemplate = "denied by the template"
	whyHost     = "token, settings or state of the host"
)

// Always returns what every session of this person is denied and is there, and why that cannot be done, if it
// cannot. It only looks.
func Always(spec Spec) ([]Closed, error) {
	b := &builder{spec: spec, planned: map[string]bool{}}
	b.sys = system.once().with(b.planned, spec.GOOS == "darwin")
	err := b.deny()
	b.findPrivate()
	return b.closed(), err
}

// CheckEntries says what is wrong with a template's entries, and which of them are left out as they are not there. It
// looks at each as a launch does.
func CheckEntries(spec Spec) (wrong []error, absent []string) {
	b := &builder{spec: spec, planned: map[string]bool{}}
	b.sys = system.once().with(b.planned, spec.GOOS == "darwin")
	look := func(key string, entries []string, write bool) {
		for _, entry := range entries {
			g, err := b.entry(entry, write)
			if err == nil && g.missing != "" && write {
				g, err = b.toBe(entry, g)
			}
			switch {
			case errors.Is(err, errNoFile), err == nil && g.missing != "" && !write:
				absent = append(absent, fmt.Sprintf("%s %q", key, entry))
			case err != nil:
				wrong = append(wrong, fmt.Errorf("%s %q: %w", key, entry, err))
			}
		}
	}
	look("read", spec.Read, false)
	look("read_write", spec.ReadWrite, true)
	for _, entry := range spec.Deny {
		if err := b.denyEntry(entry, whyTemplate); err != nil {
			wrong = append(wrong, fmt.Errorf("deny %q: %w", entry, err))
		}
	}
	return wrong, absent
}

// closed lists the places that are denied. A private one that is missing is left out.
func (r *rules) closed() []Closed {
	var list []Closed
	for _, places := range [][]denied{r.denies, r.private} {
		for _, d := range places {
			private := d.why != whyTemplate && d.why != whyHost
			if !d.link && !(private && d.missing != "") {
				list = append(list, Closed{d.spelled, d.why, d.readOnly})
			}
		}
	}
	return list
}

// deny resolves the deny entries, a template's and the host's own.
func (b *builder) deny() error {
	for _, entry := range b.spec.Deny {
		if err := b.denyEntry(entry, whyTemplate); err != nil {
			return fmt.Errorf("deny %q: %w", entry, err)
		}
	}
	for _, entry := range b.spec.Private {
		if err := b.denyEntry(entry, whyHost); err != nil {
			return fmt.Errorf("%q, which every session is denied: %w", entry, err)
		}
	}
	return nil
}

func (b *builder) denyEntry(entry, why string) error {
	p, err := b.locate(entry)
	if errors.Is(err, fs.ErrPermission) {
		// A folder on the way may not be searched now. Its owner can change that, and the target may be the owner. So the
		// folder itself is denied.
		p.spelled, err = p.real, nil
	}
	if err != nil {
		return err
	}
	own := entry == b.spec.Settings && why == whyHost
	for _, link := range p.links {
		if err := b.trusted(link); err != nil && !(own && b.ownLink(link)) {
			return err
		}
	}
	if own && b.home != "" && slices.ContainsFunc(p.links, func(link string) bool { return within(link, b.home) }) {
		b.warnings = append(b.warnings, fmt.Sprintf("the settings %q are a link: %q is read, and denied to the session", entry, p.real))
	}
	if b.spec.GOOS == "linux" && below(p.real, "/proc") {
		return errors.New("entries of /proc come and go: deny /proc whole")
	}
	b.addDenied(b.denied(p, why))
	for _, link := range p.links {
		b.addDenied(denied{place: place{spelled: link, real: link}, why: why, link: true})
	}
	return nil
}

func (b *builder) addDenied(d denied) {
	same := func(o denied) bool { return o.real == d.real && o.spelled == d.spelled && o.link == d.link }
	if i := slices.IndexFunc(b.denies, same); i >= 0 {
		b.denies[i].why = d.why
		return
	}
	b.denies = append(b.denies, d)
}

// trusted refuses a link that anyone but root could change (X07), also when this process is root. Where the link leads
// is decided now, and holds for the whole session. Whoever changes the link later moves what is denied to a place that
// the profile does not deny. In a sticky folder of root's on a read-only mount nobody can change a link of root's: that is
// how a node of Kubernetes mounts a secret, in a folder of mode 1777.
func (b *builder) trusted(link string) error {
	dir, err := b.sys.lstat(filepath.Dir(link))
	if err != nil {
		return reason(err)
	}
	at, err := b.sys.lstat(link)
	if err != nil {
		return reason(err)
	}
	fixed := dir.uid == 0 && dir.mode&fs.ModeSticky != 0 && at.uid == 0 && b.sys.readOnly(filepath.Dir(link))
	if dir.othersWrite() && !fixed {
		return fmt.Errorf("the link %q is in a folder that not only root can change: name what the link leads to", link)
	}
	return nil
}

// ownLink says whether only this person could have made the link: in a folder that nobody else can write, and that no session
// was ever granted. People keep settings.json in a folder with their other configuration, and a link in its place. A deny
// that follows such a link holds what the host reads, and the link stays for the session's time; a person who turns it
// meanwhile gives the session no more than other settings to read.
func (b *builder) ownLink(link string) bool {
	dir, err := b.sys.lstat(filepath.Dir(link))
	at, aerr := b.sys.lstat(link)
	return err == nil && aerr == nil && dir.uid == b.sys.me && at.uid == b.sys.me && dir.mode.Perm()&0o022 == 0 &&
		madeLink([]string{link}, b.spec.Granted) == ""
}

// refuseBlocked refuses a deny that takes away what the session needs. Without this the target would start, and fail
// in ways that nobody could explain.
func (b *builder) refuseBlocked() error {
	for _, d := range b.denies {
		if d.link {
			continue
		}
		for _, g := range b.grants {
			what := ""
			switch {
			case !within(g.real, d.real):
			case g.from == fromSession && g.real == b.temp:
				what = "the temporary directory"
			case g.from == fromSession:
				what = "the working directory"
			}
			if what != "" {
				return fmt.Errorf("deny of %q takes away %s %q", d.spelled, what, g.real)
			}
		}
		if b.target != "" && within(b.target, d.real) {
			return fmt.Errorf("deny of %q takes away the target's program %q", d.spelled, b.target)
		}
	}
	return nil
}

// dropDenied removes grants that a deny covers whole: denies win (X05).
func (b *builder) dropDenied() error {
	covered := func(path string) bool {
		return slices.ContainsFunc(b.denies, func(d denied) bool { return !d.link && within(path, d.real) })
	}
	b.grants = slices.DeleteFunc(b.grants, func(g grant) bool { return covered(g.real) })
	b.create = slices.DeleteFunc(b.create, covered)
	return nil
}

// warn says once what a deny inside a grant costs (X06). On Linux each folder from the grant down to what
// is denied becomes a list, because a right on a folder is a right on all below it. macOS judges names one
// by one, and the folders stay as they were.
func (b *builder) warn() error {
	b.warnPrivate()
	if b.spec.GOOS != "linux" {
		return nil
	}
	var lists []string
	cure := "grant single folders in them by name"
	for _, places := range [][]denied{b.private, b.denies} {
		for _, d := range places {
			for _, g := range b.grants {
				if !g.write || g.kind != folder || !below(d.real, g.real) {
					continue
				}
				switch d.why {
				case whyTemplate:
					cure = "keep what is denied outside what is granted"
				case whyHost: // after a template's own
					cure = "keep token, settings and state folder outside what a session may write"
				}
				lists = append(lists, d.listed(g.real)...)
			}
		}
	}
	if len(lists) > 0 {
		lists = sorted(lists)
		for i := range lists {
			lists[i] = fmt.Sprintf("%q", lists[i])
		}
		b.warnings = append(b.warnings, fmt.Sprintf("no new files directly in %s, which hold what is denied: %s", someOf(lists), cure))
	}
	return nil
}

// listed are the folders that d makes lists of, in a grant of top.
func (d denied) listed(top string) (dirs []string) {
	dir := filepath.Dir(d.real)
	if d.missing != "" {
		dir = filepath.Dir(d.missing)
	}
	for ; within(dir, top); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// someOf joins the first few of a list for a warning of one line.
func someOf(list []string) string {
	const most = 4
	if n := len(list) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n)
	}
	return strings.Join(list, ", ")
}
