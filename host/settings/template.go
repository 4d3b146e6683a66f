package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host/wire"
	"hostshim/shim"
)

// Template says how a kind of session is started and what its sandbox reaches. Paths are absolute or start
// with "~", as written.
type Template struct {
	ID             string
	Name           string
	Command        string // "": a launch must bring its own
	Args           []string
	Env            map[string]string
	EnvPassthrough []string // names that a launch with a pairing keeps though they look like credentials (E03)
	Sandbox        *bool    // nil: sandboxed
	Read           []string
	ReadWrite      []string
	Deny           []string
	Network        string // shim.NetworkOpen, shim.NetworkModel or "", which is open
	Credential     string // wire.CredentialToken, wire.CredentialPairing, wire.CredentialNone or "", which leaves it to the launch

	// Agent is the program that the template is made for: it gets a configuration folder that the host owns. Only
	// built-in templates say so. One from the settings can set CLAUDE_CONFIG_DIR, or grant ~/.claude, by itself (X05).
	Agent *Agent
	// ReadIfThere are read entries that may be missing: a built-in template cannot know what this machine has.
	ReadIfThere []string
}

// Sandboxed says whether the template's launches are sandboxed.
func (t Template) Sandboxed() bool { return t.Sandbox == nil || *t.Sandbox }

// builtin are there without settings (X05).
func builtin() []Template {
	return []Template{
		{ID: "claude-code", Name: "Claude Code", Command: Claude.Command, Agent: &Claude, ReadIfThere: gitConfig()},
		// No real credential, and no network but the model's (B03, X09).
		{ID: "claude-brokered", Name: "Claude Code, brokered", Command: Claude.Command, Agent: &Claude, ReadIfThere: gitConfig(),
			Network: shim.NetworkModel, Credential: wire.CredentialPairing},
		{ID: "shell", Name: "Shell", Command: loginShell(), Credential: wire.CredentialNone, ReadIfThere: gitConfig()},
	}
}

// gitConfig are the user's own files of git, which stops at one that is there and cannot be read. Its credentials
// lie beside them, and stay shut.
func gitConfig() []string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = "~/.config"
	}
	return []string{"~/.gitconfig", dir + "/git/config", dir + "/git/ignore", dir + "/git/attributes"}
}

// loginShell is the user's shell, where the environment names one by its place.
func loginShell() string {
	if shell := os.Getenv("SHELL"); filepath.IsAbs(shell) {
		return shell
	}
	return "/bin/sh"
}

// Template finds a template. One of the settings stands in for a built-in one of the same id, whole.
func (s *Settings) Template(id string) (Template, error) {
	all := slices.Clone(s.Templates)
	for _, builtin := range builtin() {
		if !slices.ContainsFunc(all, builtin.sameID) {
			all = append(all, builtin)
		}
	}
	if at := slices.IndexFunc(all, Template{ID: id}.sameID); at >= 0 {
		return all[at], nil
	}
	var known []string
	for _, t := range all {
		known = append(known, t.ID)
	}
	slices.Sort(known)
	return Template{}, &UnknownTemplate{id, known}
}

// UnknownTemplate is an id that no template has.
type UnknownTemplate struct {
	id    string
	known []string
}

func (e *UnknownTemplate) Error() string {
	return fmt.Sprintf("unknown template %q, known are: %s", e.id, strings.Join(e.known, ", "))
}

func (t Template) sameID(other Template) bool { return t.ID == other.ID }
