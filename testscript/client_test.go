package testscript

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
)

// client is the real Claude Code, where `make real-client` has put it into its cache.
type client struct {
	bin     string // the folder to put in front of PATH; "": it is not there
	program string // a second name of the program itself, in a folder that every user can enter
	shared  bool   // and every user can start it by that name
}

var pinned = regexp.MustCompile(`(?m)^version=(\S+)$`)

// realClient finds it once a run. One that does not start is none: an installation may have been cut short.
var realClient = sync.OnceValue(func() (c client) {
	cache := os.Getenv("HOSTSHIM_CACHE")
	if cache == "" {
		dir := os.Getenv("XDG_CACHE_HOME")
		if dir == "" {
			dir = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		cache = filepath.Join(dir, "hostshim")
	}
	script, err := os.ReadFile("real-client.sh")
	version := pinned.FindSubmatch(script)
	if err != nil || version == nil {
		return c
	}
	bin := filepath.Join(cache, "claude-code-"+string(version[1]), "node_modules", ".bin")
	program, err := filepath.EvalSymlinks(filepath.Join(bin, "claude"))
	if err != nil || exec.Command(program, "--version").Run() != nil {
		return c
	}
	// A hard link, never a copy: the program has 400 MB. On another file system a link of the other kind,
	// which leads through folders that only this user may be able to enter.
	c = client{bin: bin, program: filepath.Join(root, "client", "claude")}
	if os.Mkdir(filepath.Dir(c.program), 0o755) != nil {
		return client{}
	}
	if c.shared = os.Link(program, c.program) == nil; !c.shared && os.Symlink(program, c.program) != nil {
		return client{}
	}
	return c
})

// addClient gives the script the real client's places, if it is there.
func (s *script) addClient() {
	if c := realClient(); c.bin != "" {
		s.vars["CLAUDE"], s.vars["CLAUDE_PROGRAM"] = c.bin, c.program
		s.exempt[c.program] = true // and links to it: nothing that a script starts can write there
	}
}
