package sandbox

import "strings"

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

var (
	darwinLiterals = []string{"/", "/var", "/etc", "/tmp"}
	darwinSubtrees = []string{
		"/usr", "/bin", "/sbin", "/System/Library",
		"/private/etc", "/private/var/db/timezone", "/private/var/select",
	}
	// Homebrew on Intel keeps configuration and data of whatever it installed inside /usr.
	darwinClosed = []string{"/usr/local/etc", "/usr/local/var"}
	darwinOpened = []string{
		"/usr/local/etc/ca-certificates/cert.pem",
		"/usr/local/etc/gitconfig",
		"/usr/local/etc/openssl@3/cert.pem",
	}
	darwinWrite = []string{"/dev"}
)

const (
	commandLineTools = "/Library/Developer/CommandLineTools"
	developerDir     = "/private/var/select/developer_dir" // a link to the tools that xcrun would use
)

// baseline grants what every session reaches. What this machine does not have is left out. On macOS most
// of it is fixed text (sbpl.go), for names there need not exist.
func (b *builder) baseline() error {
	if b.spec.GOOS == "darwin" {
		b.tools = b.developerTools()
		b.grantIfThere(darwinWrite, true)
		if b.spec.UserTempDir != "" {
			b.grantIfThere([]string{b.spec.UserTempDir}, true)
		}
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
