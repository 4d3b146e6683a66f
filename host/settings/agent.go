package settings

import (
	"bytes"
	"os"
	"path/filepath"

	"hostshim/shim"
)

// Agent is what the pair knows of a coding agent. All that is particular to one stands in this table.
type Agent struct {
	Name        string            // for people
	Command     string            // what runs when a launch names no target
	Subcommands []string          // words that begin its arguments; its options need no place here
	Credentials []string          // variables that would be used in place of what the launch hands over (E03)
	BaseURL     string            // variable that leads it to the model proxy
	ConfigVar   string            // variable that names its configuration folder
	Folder      string            // that folder, below the host's data folder
	Folders     map[string]string // variable to folder, below the configuration folder: its own further ones
	Env         map[string]string // always
	ClosedEnv   map[string]string // where the model is all that it reaches
	RootEnv     map[string]string // as root
	Package     string            // of npm
	Installer   string            // in that package: what sets it up
	FirstFile   string            // written into a new configuration folder, with the folder that it is in
	FirstText   string
	Client      Client // what its client id has unless the settings say otherwise
	ListsAbove  bool   // on macOS it lists the folders above the working directory, and stops where it cannot
}

// Claude is Claude Code.
var Claude = Agent{
	Name: "Claude Code", Command: "claude", Credentials: shim.AnthropicCredentials, BaseURL: "ANTHROPIC_BASE_URL",
	ConfigVar: "CLAUDE_CONFIG_DIR", Folder: "claude",
	// The program is read-only in a session: each update would fail, with a complaint on the screen.
	Env: map[string]string{"DISABLE_AUTOUPDATER": "1"},
	// Requests to other hosts than the model's would fail, half a second late.
	ClosedEnv: map[string]string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
	// As root Claude Code refuses to work unasked unless it is in a sandbox. It is: without capabilities this root is
	// no more than an ordinary user.
	RootEnv: map[string]string{"IS_SANDBOX": "1"},
	Package: "@anthropic-ai/claude-code", Installer: "install.cjs",
	// Without this file the screen greets the user, wants a login, asks api.anthropic.com first, and ends when that does
	// not answer. A session that gets its credential on a descriptor needs none of it. Whether to trust the folder is
	// still asked.
	FirstFile: ".claude.json", FirstText: `{"hasCompletedOnboarding":true}` + "\n",
	ListsAbove: true, // it is a Bun program
}

// HalfInstalled is the installer to run where the program at path is only a package's stand-in, which npm leaves with
// --ignore-scripts: a text in place of the agent. "": it is the agent, or nobody can tell.
func (a *Agent) HalfInstalled(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || a.Installer == "" {
		return ""
	}
	f, err := os.Open(real)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	if n == 0 || bytes.IndexByte(head[:n], 0) >= 0 {
		return "" // a program of this system has a NUL byte in its header
	}
	for dir := filepath.Dir(real); dir != filepath.Dir(dir) && filepath.Base(dir) != "node_modules"; dir = filepath.Dir(dir) {
		installer := filepath.Join(dir, a.Installer)
		if info, err := os.Stat(installer); err == nil && info.Mode().IsRegular() {
			return installer
		}
	}
	return ""
}
