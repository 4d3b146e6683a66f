package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Claude is how a Claude session runs that brings no argv (R02): what relay's session_request says of it.
type Claude struct {
	Model        string // "": only a resumed session goes without
	SystemPrompt string // reaches Claude Code in a file: every process of the machine sees arguments
	Mode         string // of permissions; "" or "default" adds nothing
	Allowed      []string
	Denied       []string
	ReadOnly     bool // it reads projects and changes none
	Headless     bool // relay itself would ask for no permission at all
}

// claudeModes are the words that Claude Code takes after --permission-mode.
var claudeModes = []string{"default", "plan", "acceptEdits", "bypassPermissions", "auto", "manual", "dontAsk"}

// checkClaude refuses what could not be followed: a restriction is never dropped in silence.
func (r *Request) checkClaude() error {
	c := r.Claude
	switch {
	case c == nil:
		return nil
	case !r.Resume && strings.TrimSpace(c.Model) == "":
		return invalid("session_request.model is missing")
	case strings.HasPrefix(c.Model, "-") || strings.ContainsFunc(c.Model, odd):
		return invalid("session_request.model %.100q is no model's name", c.Model)
	case c.Mode != "" && !slices.Contains(claudeModes, c.Mode):
		return invalid("session_request: unknown permission mode %.64q, known are: %s", c.Mode, strings.Join(claudeModes, ", "))
	case c.ReadOnly && r.ProfilePath == "":
		// relay writes the projects into the profile that it brings. The host's own profile knows of none.
		return invalid("session_request.settings.readOnlyProjects needs a profile that denies writing: sandbox.profile_path")
	}
	for _, rule := range slices.Concat(c.Allowed, c.Denied) {
		if err := checkRule(rule); err != nil {
			return invalid("session_request.settings.permissionPolicy: %.100q %v", rule, err)
		}
	}
	return nil
}

func odd(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }

// checkRule says why rule cannot stand in a list of tools. Claude Code splits such a list at each comma and blank that is
// not between ( and the next ). A rule that it split elsewhere, or joined to the next one, would deny something else than
// its author meant.
func checkRule(rule string) error {
	depth, inside := 0, false
	for _, c := range rule {
		switch {
		case odd(c):
			return errors.New("holds a character that no rule has")
		case c == '(':
			depth, inside = depth+1, true
		case c == ')':
			depth, inside = depth-1, false
		case !inside && (c == ',' || unicode.IsSpace(c)):
			return errors.New("holds a comma or a blank outside parentheses")
		}
		if depth < 0 {
			break
		}
	}
	switch {
	case rule == "":
		return errors.New("is empty")
	case depth != 0:
		return errors.New("lacks a parenthesis")
	case rule[0] == '-':
		return errors.New("starts as a flag does")
	}
	return nil
}

// args are the arguments of Claude Code, in the order of R02.
func (c *Claude) args(conversation string, resume bool, promptFile string) []string {
	args := []string{"--print", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"}
	add := func(when bool, words ...string) {
		if when {
			args = append(args, words...)
		}
	}
	add(strings.TrimSpace(c.Model) != "", "--model", c.Model)
	add(!resume, "--session-id", conversation)
	add(resume, "--resume", conversation)
	add(promptFile != "", "--append-system-prompt-file", promptFile)
	add(c.Mode != "" && c.Mode != "default", "--permission-mode", c.Mode)
	add(c.Mode == "bypassPermissions", "--dangerously-skip-permissions")
	add(len(c.Allowed) > 0, "--allowedTools", strings.Join(c.Allowed, ","))
	add(len(c.Denied) > 0, "--disallowedTools", strings.Join(c.Denied, ","))
	add(c.ReadOnly, "--tools", "Read,Grep,Glob", "--strict-mcp-config")
	return args
}

// warnHeadless: a session that asks for no permission must say so by the mode's name.
func (h *Host) warnHeadless(r *Request) {
	if c := r.Claude; c != nil && c.Headless && c.Mode != "bypassPermissions" {
		h.config.Warn(fmt.Sprintf("session %s: settings.headless does not lift permissions: ask for permissionMode bypassPermissions", r.SessionID))
	}
}

// promptFile is where the session's system prompt goes; "": it has none.
func (p *Plan) promptFile() string {
	if c := p.request.Claude; c == nil || c.SystemPrompt == "" {
		return ""
	}
	return filepath.Join(p.temp, "system-prompt")
}

// writePrompt writes it into the session's temporary folder, which the session can read and whose end removes.
func (p *Plan) writePrompt() error {
	path := p.promptFile()
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.request.Claude.SystemPrompt)
	return errors.Join(err, f.Close())
}
