package sandbox

import (
	"errors"
	"fmt"
	"os"

	"hostshim/shim"
)

// Spec says what one session may reach. Nothing in it need exist but WorkDir.
type Spec struct {
	GOOS string // "linux" or "darwin": which profile to write

	Home       string // what ~ stands for; may be empty, then ~ is an error
	ConfigHome string // where programs keep their configuration if not in ~/.config; may be empty

	WorkDir string // read-write, with all below
	TempDir string // read-write, with all below; may be made after Build, by the host

	UserTempDir string   // macOS: getconf DARWIN_USER_TEMP_DIR; else empty
	Terminals   []string // macOS: the terminals on descriptors 0 to 2
	ListAbove   bool     // macOS: the program lists the folders above WorkDir, and stops where it cannot

	Program string // the target, as found through PATH; empty or missing: the shim will report it
	Path    string // the target's PATH, in which #!/usr/bin/env looks

	Read        []string // a template's entries: absolute, ~ or ~/…
	ReadIfThere []string // files, and folders with / at the end; those that are not there, or cannot be placed, are left out
	ReadWrite   []string
	Deny        []string
	Granted     []string // folders and files that sessions were ever granted for writing, without links (X15)
	Kept        string   // the data folder: nothing that is named in a configuration is granted there
	Private     []string // the host's own: token file, state directory, settings (X06, X12)
	Settings    string   // of Private, the one that may be reached through links of the person's own

	Named   []Named // what the person's configuration has programs read: granted for reading if nothing speaks against it (X19)
	Inspect func(n Named, real string, folder bool) (more []Named, why string)

	Network   string // "", shim.NetworkOpen, NetworkModel or NetworkNone; empty is open
	ModelPort int    // macOS with shim.NetworkModel: the one loopback port that stays open
}

// Profile is what Build makes of a Spec.
type Profile struct {
	Text     []byte
	Ext      string   // ".json" or ".sb"
	Network  string   // shim.NetworkOpen, NetworkModel or NetworkNone
	Warnings []string // for the user, at most one line each
	Unread   []string // what the person's configuration names and the session cannot read, each with the reason
	Create   []string // folders to make 0700 before the start, parents first
	Writable []string // folders granted for writing, without links: the working directory, then the others
	Changed  []string // single files that a template grants for writing, without links
	Closed   []Closed // what stays closed whatever wider is granted

	rules rules
	spec  Spec
}

// Closed is a place that a session cannot reach, or cannot write.
type Closed struct {
	Path     string `json:"path"`
	Why      string `json:"why"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Build resolves spec against the file system and renders its profile. It only reads: an error, whose text
// names the entry and the reason, leaves nothing behind.
func Build(spec Spec) (*Profile, error) {
	return build(spec, system.once())
}

func build(spec Spec, sys facts) (*Profile, error) {
	r, err := resolve(spec, sys)
	if err != nil {
		return nil, err
	}
	p := &Profile{Network: r.network, Warnings: r.warnings, Unread: r.unread, Create: r.create, Writable: r.writable(), Changed: r.writableFiles(), Closed: r.closed(), rules: *r, spec: spec}
	if spec.GOOS == "darwin" {
		p.Ext = ".sb"
		p.Text, err = renderSBPL(r)
	} else {
		p.Ext = ".json"
		p.Text, err = renderPolicy(r)
	}
	if err != nil {
		return nil, err
	}
	return p, p.fits()
}

func (p *Profile) fits() error {
	if len(p.Text) > shim.MaxProfile {
		return fmt.Errorf("the profile is larger than %d bytes", shim.MaxProfile)
	}
	return nil
}

// Protect closes paths for writing in a session with a network of its own (X17, Linux). They have no links.
func (p *Profile) Protect(paths []string) (err error) {
	p.rules.protect = append([]string{}, paths...)
	if p.Text, err = renderPolicy(&p.rules); err != nil {
		return err
	}
	return p.fits()
}

// writable lists the folders that the session was granted for writing by its launch: the working directory, then what its
// template adds.
func (r *rules) writable() (folders []string) {
	for _, g := range r.grants {
		if g.write && g.kind == folder && (g.from == fromTemplate || g.from == fromSession && g.real != r.temp) {
			folders = append(folders, g.real)
		}
	}
	return folders
}

// writableFiles lists the single files that the template grants for writing: what one names is not to be granted to a later
// session.
func (r *rules) writableFiles() (files []string) {
	for _, g := range r.grants {
		if g.write && g.kind == file && g.from == fromTemplate {
			files = append(files, g.real)
		}
	}
	return files
}

// Prepare makes the folders that templates grant read-write and that are missing (X05). On an error it
// takes back what it made.
func (p *Profile) Prepare() error {
	for i, dir := range p.Create {
		// Mkdir, not MkdirAll: what stands at a name by now is not what Build saw, and a link there would lead the grant
		// elsewhere. The second stage refuses links, and this refuses everything else that is no folder.
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, os.ErrExist) {
			var info os.FileInfo
			if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
				err = fmt.Errorf("mkdir %s: something else is there", dir)
			}
			if err == nil {
				continue // another launch of the same template was faster
			}
		}
		if err != nil {
			for ; i > 0; i-- {
				os.Remove(p.Create[i-1]) // a folder that is in use by now stays
			}
			return err
		}
	}
	return nil
}

// rules is a session's reach with every path resolved: what the renderers put into words.
type rules struct {
	grants   []grant
	denies   []denied
	protect  []string // Linux: closed for writing though granted; nil: nothing is
	temp     string   // the temporary directory with its links followed
	private  []denied // closed to what is granted around them, not to a grant of them (X16)
	tools    string   // macOS: the command-line tools' folder
	userTemp string   // macOS: the user's folder for temporary files
	above    string   // macOS: a folder above which all may be listed; empty: none
	network  string
	port     int
	warnings []string
	unread   []string
	create   []string
}

// builder holds a Spec while it is resolved.
type builder struct {
	rules
	spec    Spec
	sys     facts
	home    string          // Home with its links followed
	work    place           // WorkDir likewise
	target  string          // Program likewise; empty when it cannot run
	planned map[string]bool // folders that are missing but will be there before the start
}

// resolve is the agenda. Denies come after every grant: a folder that a grant will create exists by the
// time a deny inside it counts.
func resolve(spec Spec, sys facts) (*rules, error) {
	b := &builder{spec: spec, planned: map[string]bool{}}
	b.sys = sys.with(b.planned, spec.GOOS == "darwin")
	for _, step := range []func() error{
		b.check,
		b.findPrivate,
		b.baseline,
		b.session,
		b.templates,
		b.program,
		b.deny,
		b.named,
		b.keepPrivate,
		b.refuseBlocked,
		b.refuseTurnable,
		b.refuseMade,
		b.dropDenied,
		b.warn,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &b.rules, nil
}

func (b *builder) check() error {
	switch b.spec.GOOS {
	case "linux", "darwin":
	default:
		return fmt.Errorf("no sandbox for system %q", b.spec.GOOS)
	}
	switch b.spec.Network {
	case "":
		b.network = shim.NetworkOpen
	case shim.NetworkOpen, shim.NetworkModel, shim.NetworkNone:
		b.network = b.spec.Network
	default:
		return fmt.Errorf("network %q, want %q, %q or %q", b.spec.Network, shim.NetworkOpen, shim.NetworkModel, shim.NetworkNone)
	}
	if b.spec.GOOS == "darwin" && b.network == shim.NetworkModel {
		if b.spec.ModelPort < 1 || b.spec.ModelPort > 65535 {
			return fmt.Errorf("network %q: port %d is none", shim.NetworkModel, b.spec.ModelPort)
		}
		b.port = b.spec.ModelPort
	}
	if b.spec.UserTempDir != "" {
		p, err := b.locate(b.spec.UserTempDir)
		if err != nil {
			return fmt.Errorf("temporary folder %q: %w", b.spec.UserTempDir, err)
		}
		b.userTemp = p.real
	}
	if b.spec.Home != "" {
		p, err := b.locate(b.spec.Home)
		if err != nil {
			return fmt.Errorf("home directory %q: %w", b.spec.Home, err)
		}
		b.home = p.real
	}
	return nil
}
