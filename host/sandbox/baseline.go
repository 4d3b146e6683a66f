package sandbox

import (
	"slices"
	"strings"
)

// What every session reaches (X04). docs/sandbox.md says why each entry is here.

var (
	// Programs, libraries, configuration. On a merged-usr system most of these are links into /usr.
	linuxRead = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc", "/opt", "/nix/store", "/sys", "/proc",
		"/etc/resolv.conf", // for what it points at, which /etc does not cover
	}
	// Single nodes: /dev whole holds disks, the kernel log and other terminals.
	linuxDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	// Shared memory is a folder of files.
	linuxWrite = []string{"/dev/shm"}
)

// darwinLinks are the links that most paths pass, and the root, which shells list.
var darwinLinks = []string{"/", "/var", "/etc", "/tmp"}

// darwinSubtrees are what programs and their libraries lie in. Of Homebrew on Apple silicon, which is a folder of its
// own, these are the parts without configuration and data; a program links against them whoever installed it.
func darwinSubtrees() []string {
	return slices.Concat([]string{
		"/usr", "/bin", "/sbin", "/System/Library", "/System/Cryptexes", "/System/Volumes/Preboot/Cryptexes",
		"/Library/Apple", "/Library/Frameworks", "/Library/Java",
		"/private/etc", "/private/var/db/mds", "/private/var/db/timezone", "/private/var/select",
	}, inFolder("/opt/homebrew", "Cellar", "Library", "bin", "include", "lib", "opt", "sbin", "share"))
}

// darwinFiles are single files: which tools and resolver are selected, the language and network preferences that
// the system's libraries look at, and the certificates that a company adds.
var darwinFiles = []string{
	"/private/var/db/xcode_select_link", "/private/var/run/resolv.conf",
	"/Library/Preferences/.GlobalPreferences.plist", "/Library/Preferences/com.apple.networkd.plist",
	"/Library/Keychains/System.keychain",
}

// Homebrew on Intel keeps configuration and data of whatever it installed inside /usr. Of either Homebrew's
// configuration, these files hold no secret.
var darwinClosed = []string{"/usr/local/etc", "/usr/local/var"}

func darwinOpened() []string {
	return slices.Concat(brewFiles("/usr/local"), brewFiles("/opt/homebrew"))
}

func brewFiles(prefix string) []string {
	return inFolder(prefix, "etc/ca-certificates/cert.pem", "etc/gitconfig", "etc/openssl@3/cert.pem")
}

// inFolder puts names into a folder.
func inFolder(dir string, names ...string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, dir+"/"+name)
	}
	return paths
}

// darwinDevices are named one by one: /dev holds the user's other terminals. Beside them a session has its own
// terminal, and those that it makes itself.
var darwinDevices = []string{
	"/dev/autofs_nowait", "/dev/dtracehelper", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
}

const (
	commandLineTools = "/Library/Developer/CommandLineTools"
	developerDir     = "/private/var/select/developer_dir" // a link to the tools that xcrun would use
)

// baseline grants what every session reaches. What this machine does not have is left out. On macOS it is fixed
// text (sbpl_system.go), for names there need not exist.
func (b *builder) baseline() error {
	if b.spec.GOOS == "darwin" {
		b.tools = b.developerTools()
		b.grantIfThere(b.spec.Terminals, true)
		return nil
	}
	b.grantIfThere(linuxRead, false)
	b.grantIfThere(linuxDevices, true)
	b.grantIfThere(linuxWrite, true)
	return nil
}

func (b *builder) grantIfThere(paths []string, write bool) {
	for _, path := range paths {
		p, err := b.locate(path)
		if err != nil || p.missing != "" || p.real == "/" {
			continue
		}
		if k, err := kindOf(p.node); err == nil {
			b.add(grant{place: p, kind: k, write: write, from: fromSystem})
		}
	}
}

// developerTools is the folder of git, make and the compilers: inside Xcode where the developer folder
// points there, else the stand-alone tools. /usr/bin/git is a stand-in that starts them.
func (b *builder) developerTools() string {
	p, err := b.locate(developerDir)
	if err != nil {
		return commandLineTools
	}
	if app, _, ok := strings.Cut(p.real, ".app/Contents/"); ok {
		return app + ".app/Contents"
	}
	return commandLineTools
}
