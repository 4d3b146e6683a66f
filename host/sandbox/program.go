package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// homebrewPrefixes are the places that Homebrew is installed in.
var homebrewPrefixes = []string{"/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"}

// maxScripts is how many interpreters may stand before a program: a script's interpreter can be a script.
const maxScripts = 4

// program grants what the target needs to start (X04). Nothing here refuses a launch: the shim reports a program that is
// missing or cannot run.
func (b *builder) program() error {
	p, err := b.locate(b.spec.Program)
	if err == nil && p.missing == "" && p.node.isExec() {
		b.target = p.real
		b.needs(b.spec.Program, maxScripts, false)
	}
	return nil
}

// needs grants the program at path, to read and run: the real file, never the folder of a link to it; the
// packages or the installation it belongs to; for a script, its interpreter. Only a file marked
// executable counts, so that a script in a hostile project cannot name a key as its interpreter.
//
// chosen: a session could have written the file or the link that names this program. Then it gets its
// standard library and nothing else: #!/home/ann/other/bin/python3 must not open the project in ~/other.
func (b *builder) needs(path string, scripts int, chosen bool) {
	p, err := b.locate(path)
	if err != nil || p.missing != "" || !p.node.isExec() {
		return
	}
	chosen = chosen || b.sessionWrites(p)
	b.add(grant{place: p, kind: file, from: fromProgram})
	// Every place on the way may be inside an installation: Python looks for its library beside the link
	// in a virtual environment, node for its packages beside the real file.
	for _, at := range append([]string{p.real}, p.links...) {
		dir := filepath.Dir(at)
		outer := nodeModules(at)
		if outer != "" && (!chosen || strings.HasSuffix(outer, "/lib/node_modules")) {
			b.grantPart(outer, ".")
		}
		if chosen {
			b.standardLibrary(dir)
			continue
		}
		b.grantPart(dir, "node_modules")
		b.installation(dir)
	}
	if scripts == 0 {
		return
	}
	for _, interpreter := range b.interpreters(p.real) {
		b.needs(interpreter, scripts-1, chosen)
	}
}

// sessionWrites says whether the session can write the file at p, or turn a link on the way to it.
func (b *builder) sessionWrites(p place) bool {
	return slices.ContainsFunc(b.grants, func(g grant) bool {
		in := func(path string) bool { return g.write && within(path, g.real) }
		return in(p.real) || slices.ContainsFunc(p.links, in)
	}) || slices.Contains(b.spec.Granted, p.real) || madeLink(append([]string{p.real}, p.links...), b.spec.Granted) != ""
}

// grantPart grants the named part of the installation in root, if it is there, to read. A part that is a
// link out of root is none: a hostile project could lay one to the user's keys.
func (b *builder) grantPart(root, name string) {
	p, err := b.locate(filepath.Join(root, name))
	if err != nil || p.missing != "" || !within(p.real, root) || b.reads(p.real) {
		return
	}
	if k, err := kindOf(p.node); err == nil && (k == folder || k == file) {
		b.add(grant{place: p, kind: k, from: fromProgram})
	}
}

// reads says whether the session can read path already. On macOS a second grant would come after the rule that closes
// parts of /usr, and open them.
func (b *builder) reads(path string) bool {
	in := func(dir string) bool { return within(path, dir) }
	return b.spec.GOOS == "darwin" && (slices.ContainsFunc(darwinSubtrees(), in) || slices.Contains(darwinOpened(), path)) || b.granted(path)
}

// nodeModules is the outermost node_modules folder around path, or "". A package finds what it depends on
// (its own program for this platform, too) beside itself or further up, and pnpm keeps the packages
// themselves in a hidden folder of the outermost one.
func nodeModules(path string) string {
	const name = "/node_modules/"
	if i := strings.Index(path, name); i >= 0 {
		return path[:i+len(name)-1]
	}
	return ""
}

// installation grants what a program in bin loads from its installation: prefix/bin/node with
// prefix/lib/node_modules, prefix/bin/python with prefix/lib/pythonX.Y, Homebrew's folders.
func (b *builder) installation(bin string) {
	if i := strings.Index(bin, "/Cellar/"); i >= 0 {
		b.homebrew(bin[:i])
		return
	}
	if filepath.Base(bin) != "bin" {
		return
	}
	prefix := filepath.Dir(bin)
	if b.isDir(filepath.Join(prefix, "Cellar")) {
		b.homebrew(prefix)
		return
	}
	lib := filepath.Join(prefix, "lib")
	if b.reads(lib) {
		return
	}
	all, err := b.sys.names(lib)
	if err != nil {
		return
	}
	for _, name := range all {
		if name != "node_modules" && !strings.HasPrefix(name, "python") || !b.isDir(filepath.Join(lib, name)) {
			continue
		}
		if b.mayGrantWhole(prefix) {
			b.grantPart(prefix, ".")
			return
		}
		b.grantPart(lib, name)
		b.grantPart(prefix, "pyvenv.cfg")
	}
}

// standardLibrary grants what an interpreter in bin cannot start without. Python marks its library by os.py;
// a virtual environment's lib holds a project's packages instead, and its pyvenv.cfg names the library.
func (b *builder) standardLibrary(bin string) {
	for _, prefix := range homebrewPrefixes {
		if within(bin, prefix) {
			b.installation(bin)
			return
		}
	}
	if filepath.Base(bin) != "bin" {
		return
	}
	prefix := filepath.Dir(bin)
	b.grantPart(prefix, "pyvenv.cfg")
	lib := filepath.Join(prefix, "lib")
	all, err := b.sys.names(lib)
	if err != nil {
		return
	}
	for _, name := range all {
		if mark, err := b.locate(filepath.Join(lib, name, "os.py")); err != nil || mark.missing != "" || !strings.HasPrefix(name, "python") {
			continue
		}
		if b.mayGrantWhole(prefix) {
			name = "." // with the shared libraries that its modules load
		}
		b.grantPart(lib, name)
	}
}

// homebrew grants the programs and libraries, which refer to each other through opt, and none of the
// configuration and data that lie beside them.
func (b *builder) homebrew(prefix string) {
	for _, name := range []string{
		"Cellar", "opt", "lib", "etc/openssl@3/cert.pem", "etc/ca-certificates/cert.pem",
	} {
		b.grantPart(prefix, name)
	}
}

// mayGrantWhole keeps ~, what holds it and its dot folders (~/.local, ~/.ssh) from being granted whole.
func (b *builder) mayGrantWhole(prefix string) bool {
	if prefix == "/" {
		return false
	}
	if b.home == "" {
		return true
	}
	hidden := filepath.Dir(prefix) == b.home && strings.HasPrefix(filepath.Base(prefix), ".")
	return !hidden && !within(b.home, prefix)
}

func (b *builder) isDir(path string) bool {
	p, err := b.locate(path)
	return err == nil && p.missing == "" && p.node.isDir()
}

// interpreters are the programs that run the script at path: the one on its first line, and the one that env would
// look up.
func (b *builder) interpreters(path string) []string {
	start, err := b.sys.head(path)
	if err != nil || !strings.HasPrefix(string(start), "#!") {
		return nil
	}
	line, _, _ := strings.Cut(string(start[2:]), "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	found := []string{b.fromWorkDir(words[0])}
	if filepath.Base(words[0]) == "env" {
		if name := envCommand(words[1:]); name != "" {
			found = append(found, b.lookUp(name))
		}
	}
	return found
}

// envCommand is the command in env's arguments: the first word that is no option, option's value or assignment.
func envCommand(words []string) string {
	for i := 0; i < len(words); i++ {
		word := words[i]
		for _, split := range []string{"--split-string=", "-S"} {
			word = strings.TrimPrefix(word, split)
		}
		switch {
		case word == "-u", word == "-C", word == "--unset", word == "--chdir":
			i++
		case word == "", strings.HasPrefix(word, "-"), strings.Contains(word, "="):
		default:
			return word
		}
	}
	return ""
}

// lookUp finds name as the target would: through its PATH, relative folders of which are left out.
func (b *builder) lookUp(name string) string {
	if strings.Contains(name, "/") {
		return b.fromWorkDir(name)
	}
	for _, dir := range filepath.SplitList(b.spec.Path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if p, err := b.locate(path); err == nil && p.missing == "" && p.node.isExec() {
			return path
		}
	}
	return ""
}

func (b *builder) fromWorkDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.spec.WorkDir, path)
}
