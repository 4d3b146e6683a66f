package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// privatePlaces are where people keep credentials, and what runs by itself later. A grant of a folder around one
// does not open it: only a template that names the place, or one inside it, does (X16). Those that hold no secret
// can still be read.
var privatePlaces = []struct {
	why      string
	readOnly bool
	paths    []string
}{
	{"SSH keys", false, []string{"~/.ssh"}},
	{"GnuPG keys", false, []string{"~/.gnupg"}},
	{"cloud credentials", false, []string{"~/.aws", "~/.azure", "~/.kube", "~/.config/gcloud"}},
	{"registry credentials", false, []string{
		"~/.docker", "~/.npmrc", "~/.pypirc", "~/.cargo/credentials.toml", "~/.m2/settings.xml",
	}},
	{"network passwords", false, []string{
		"~/.netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh",
	}},
	{"saved passwords", false, []string{"~/.password-store", "~/.local/share/keyrings", "~/Library/Keychains"}},
	{"browser profile", false, []string{
		"~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/Library/Application Support/Firefox",
		"~/Library/Application Support/Google/Chrome", "~/Library/Application Support/Chromium",
		"~/Library/Safari", "~/Library/Cookies",
	}},
	{"an agent's login", false, []string{
		"~/.claude/.credentials.json", "~/.codex/auth.json", "~/.gemini", "~/.qwen", "~/.copilot", "~/.local/share/opencode",
	}},
	{"shell history", false, []string{"~/.bash_history", "~/.zsh_history"}},
	{"shell start-up file", true, []string{
		"~/.profile", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bashrc", "~/.bash_aliases",
		"~/.zshenv", "~/.zprofile", "~/.zshrc", "~/.zlogin", "~/.zlogout",
		"~/.kshrc", "~/.cshrc", "~/.tcshrc", "~/.login", "~/.logout", "~/.config/fish",
	}},
	{"git configuration, which names programs", true, []string{"~/.gitconfig", "~/.config/git"}},
	{"starts with the login", true, []string{
		"~/.config/systemd", "~/.config/autostart", "~/.config/environment.d", "~/Library/LaunchAgents",
		"~/.xprofile", "~/.xsession", "~/.xinitrc",
	}},
	{"programs on PATH", true, []string{"~/.local/bin"}},
}

// findPrivate resolves the table. Unlike a deny entry a place never refuses a launch because of a link on its way:
// many people keep their configuration behind links. Both ends are closed, and the link stays what it is.
func (b *builder) findPrivate() error {
	b.private = make([]denied, 0, 64) // all of them, usually
	for _, row := range privatePlaces {
		for _, path := range row.paths {
			b.addPrivate(path, row.why, row.readOnly)
			if name, ok := strings.CutPrefix(path, "~/.config/"); ok && b.spec.ConfigHome != "" {
				b.addPrivate(filepath.Join(b.spec.ConfigHome, name), row.why, row.readOnly)
			}
		}
	}
	return nil
}

func (b *builder) addPrivate(path, why string, readOnly bool) {
	p, err := b.locate(path)
	if errors.Is(err, fs.ErrPermission) {
		p.spelled, err = p.real, nil // as in denyEntry
	}
	known := func(d denied) bool { return d.real == p.real && d.spelled == p.spelled }
	if err == nil && !slices.ContainsFunc(b.private, known) {
		d := b.denied(p, why)
		d.readOnly = readOnly
		b.private = append(b.private, d)
	}
	for _, link := range p.links {
		b.private = append(b.private, denied{place: place{spelled: link, real: link}, why: why, link: true})
	}
}

// keepPrivate leaves out the places that make no difference to this session. One that is there always stays, on
// Linux: a grant may hold it by another name, that of a second mount.
func (b *builder) keepPrivate() error {
	b.private = slices.DeleteFunc(b.private, func(d denied) bool {
		there := d.missing == "" && !d.link && b.spec.GOOS == "linux"
		return !there && !slices.ContainsFunc(b.grants, d.heldBy) || b.leftToItsTool(d)
	})
	work := b.work.real
	for _, d := range b.private {
		named := func(g grant) bool {
			return g.from == fromTemplate && g.write && within(g.real, d.real) && within(work, g.real)
		}
		if !d.link && within(work, d.real) && !slices.ContainsFunc(b.grants, named) {
			return fmt.Errorf("working directory %q is in %q (%s): a template that names it in read_write opens it", work, d.spelled, d.why)
		}
	}
	return nil
}

// heldBy says whether g is a grant around d that would open it.
func (d denied) heldBy(g grant) bool {
	return g.kind == folder && below(d.real, g.real) && (g.write || !d.readOnly && !d.link)
}

// leftToItsTool: Landlock closes a missing name only by keeping all new names out of its folder. Where a template
// grants a tool its own folder, ~/.cargo for one, that would stop the tool for a file that is not there.
func (b *builder) leftToItsTool(d denied) bool {
	dir := filepath.Dir(d.real)
	return b.spec.GOOS == "linux" && d.missing != "" && !d.readOnly && dir != b.home &&
		slices.ContainsFunc(b.grants, func(g grant) bool { return g.from == fromTemplate && g.write && g.real == dir })
}

// covers says whether a grant of wide opens path: it does not reach into a private place.
func (r *rules) covers(wide, path string) bool {
	return within(path, wide) && !slices.ContainsFunc(r.private, func(d denied) bool {
		return !d.link && within(path, d.real) && !within(wide, d.real)
	})
}

// warnPrivate says once what stays closed inside what a person granted.
func (b *builder) warnPrivate() {
	var closed, readOnly []string
	for _, d := range b.private {
		holds := func(g grant) bool { return g.from != fromSystem && d.heldBy(g) }
		named := func(g grant) bool { return g.from == fromTemplate && within(g.real, d.real) }
		if d.link || d.missing != "" || !slices.ContainsFunc(b.grants, holds) || slices.ContainsFunc(b.grants, named) {
			continue
		}
		text := fmt.Sprintf("%q (%s)", d.spelled, d.why)
		if d.readOnly {
			readOnly = append(readOnly, text)
		} else {
			closed = append(closed, text)
		}
	}
	var parts []string
	if len(closed) > 0 {
		parts = append(parts, "closed: "+someOf(closed))
	}
	if len(readOnly) > 0 {
		parts = append(parts, "read-only: "+someOf(readOnly))
	}
	if len(parts) > 0 {
		b.warnings = append(b.warnings, fmt.Sprintf("of what is granted stay %s: a template opens a place by naming it in read or read_write",
			strings.Join(parts, "; ")))
	}
}
