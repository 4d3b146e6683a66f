package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	Credential     string // CredentialToken, CredentialPairing, CredentialNone or "", which leaves it to the launch

	// ownConfig: Claude Code gets a configuration folder of the host's. Only a template that comes with the
	// host wants it: one from the settings can set CLAUDE_CONFIG_DIR, or grant ~/.claude, by itself (X05).
	ownConfig bool
	// readIfThere are read entries that need not be there, as a template that comes with the host cannot know.
	readIfThere []string
}

// Sandboxed says whether the template's launches are sandboxed.
func (t Template) Sandboxed() bool { return t.Sandbox == nil || *t.Sandbox }

// builtinTemplates are there without settings (X05).
func builtinTemplates() []Template {
	return []Template{
		{ID: "claude-code", Name: "Claude Code", Command: "claude", ownConfig: true, readIfThere: gitConfig()},
		// No real credential, and no network but the model's (B03, X09).
		{ID: "claude-brokered", Name: "Claude Code, brokered", Command: "claude", ownConfig: true, readIfThere: gitConfig(),
			Network: shim.NetworkModel, Credential: CredentialPairing},
		{ID: "shell", Name: "Shell", Command: loginShell(), Credential: CredentialNone, readIfThere: gitConfig()},
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
	for _, builtin := range builtinTemplates() {
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
	return Template{}, fmt.Errorf("unknown template %q, known are: %s", id, strings.Join(known, ", "))
}

func (t Template) sameID(other Template) bool { return t.ID == other.ID }
