package testscript

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// client is a real agent, where `make real-client` has put it into its cache.
type client struct {
	bin     string // the folder to put in front of PATH; "": it is not there
	program string // of Claude Code: a second name of the program itself, in a folder that every user can enter
	shared  bool   // every user can start it, Claude Code by that name
}

var pinned = regexp.MustCompile(`(?m)^([a-z-]+) (\d+\.\d+\.\d+) (\S+) (\S+)`)

// cached is where an agent's package was installed, and the command that starts it; "": real-client.sh names none.
func cached(agent string) (dir, command string) {
	cache := os.Getenv("HOSTSHIM_CACHE")
	if cache == "" {
		dir := os.Getenv("XDG_CACHE_HOME")
		if dir == "" {
			dir = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		cache = filepath.Join(dir, "hostshim")
	}
	script, _ := os.ReadFile("real-client.sh")
	for _, m := range pinned.FindAllStringSubmatch(string(script), -1) {
		if m[1] == agent {
			return filepath.Join(cache, agent+"-"+m[2]), m[4]
		}
	}
	return "", ""
}

// realClient finds Claude Code once a run. One that does not start is none: an installation may have been cut short.
var realClient = sync.OnceValue(func() (c client) {
	dir, command := cached("claude-code")
	bin := filepath.Join(dir, "node_modules", ".bin")
	program, err := filepath.EvalSymlinks(filepath.Join(bin, command))
	if err != nil || exec.Command(program, "--version").Run() != nil {
		return c
	}
	// A hard link, never a copy: the program has 400 MB. On another file system a link of the other kind,
	// which leads through folders that only this user may be able to enter.
	c = client{bin: bin, program: filepath.Join(root, "client", "claude")}
	if os.MkdirAll(filepath.Dir(c.program), 0o755) != nil {
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

var (
	agentsMu sync.Mutex
	agents   = map[string]client{}
)

// agent is what [client:NAME] and [sharedclient:NAME] ask for. It gives the script the folder as $NAME. real-client.sh has
// tried whether the program starts: some take seconds for that.
func (s *script) agent(name string) client {
	agentsMu.Lock()
	defer agentsMu.Unlock()
	c, known := agents[name]
	if !known {
		c = linkAgent(name)
		agents[name] = c
	}
	if c.bin != "" {
		s.vars[strings.ToUpper(name)] = c.bin
	}
	return c
}

// linkAgent makes second names of all files of an agent's package, in a folder that every user can enter. Where that
// cannot be, on another file system, the package is used where it is, and others than root may not reach it.
func linkAgent(name string) client {
	dir, _ := cached(name)
	if _, err := os.Stat(filepath.Join(dir, "works")); dir == "" || err != nil {
		return client{}
	}
	from, to := filepath.Join(dir, "node_modules"), filepath.Join(root, "client", name, "node_modules")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		second := filepath.Join(to, rel)
		switch d.Type() {
		case fs.ModeDir:
			return os.MkdirAll(second, 0o755)
		case fs.ModeSymlink:
			leads, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(leads, second)
		}
		return os.Link(path, second)
	})
	if err != nil {
		return client{bin: filepath.Join(from, ".bin")}
	}
	return client{bin: filepath.Join(to, ".bin"), shared: true}
}
