// Package doctor says what would stop a launch (status), and tries the whole way by running the host's own command.
package doctor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostshim/host"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Check is one thing that host doctor tried (H11).
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // ok, fail or skip
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"` // of what failed
}

// Results of a check.
const (
	CheckOK   = "ok"
	CheckFail = "fail"
	CheckSkip = "skip"
)

// How long a trial may take.
const (
	insideWithin = 20 * time.Second
	claudeWithin = time.Minute
	endWithin    = 10 * time.Second // for the rest, once it was told to end
)

// Config is what a doctor tries.
type Config struct {
	Places state.Places
	Path   string   // PATH of the person, in which a claude may be
	Host   string   // the host program
	Inside []string // command that looks around in the sandbox: Inside with the token file's path as its argument
}

// doctor tries launches with settings, state and token of its own, below one temporary folder.
type doctor struct {
	Config
	dir      string
	settings string // the trial's settings file
	project  string // working folder of the trials; the token lies in it, so that its deny is inside a grant
	sum      string // of the token

	ownToken, otherKeys bool // what the person's own settings have

	checks []Check
}

// Run tries the real path end to end with a throw-away token (H11).
func Run(c Config) ([]Check, error) {
	dir, err := trialFolder(c.Places)
	if err != nil {
		return nil, err
	}
	defer state.RemoveTree(dir)
	d := &doctor{Config: c, dir: dir, settings: filepath.Join(dir, "settings.json"), project: filepath.Join(dir, "project")}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	seen, problems := look(d.Places)
	d.ownToken = seen.Paths.ClaudeTokenFile != ""
	d.otherKeys = len(seen.Clients) > 0
	d.problems(problems, checkSettings, d.Places.Settings)
	d.problems(problems, checkToken, "a token file is configured")
	d.problems(problems, checkState, d.Places.State)
	if d.otherKeys {
		d.problems(problems, checkAgents, "those with a key are installed")
	}
	if d.checkShim() && d.checkSandbox() {
		if d.checkDescriptorPath() {
			d.checkHandOff()
		}
		d.checkClaude()
		d.checkBroker()
	}
	return d.checks, nil
}

func (d *doctor) add(name string, err error, detail, cure string) bool {
	c := Check{Name: name, Result: CheckOK, Detail: detail}
	if err != nil {
		c.Result, c.Detail, c.Cure = CheckFail, err.Error(), cure
	}
	d.checks = append(d.checks, c)
	return err == nil
}

// prepare makes the folder, the token and settings that name it.
func (d *doctor) prepare() error {
	var raw [32]byte
	rand.Read(raw[:])
	token := []byte("sk-ant-oat01-" + hex.EncodeToString(raw[:]))
	d.sum = fmt.Sprintf("%x", sha256.Sum256(token))
	return errors.Join(os.Mkdir(d.project, 0o700), os.WriteFile(d.tokenFile(), token, 0o600),
		d.writeSettings(map[string]any{"terminal_templates": []map[string]string{{"id": "doctor", "credential": wire.CredentialToken}}}))
}

func (d *doctor) tokenFile() string { return filepath.Join(d.project, "token") }

func (d *doctor) writeSettings(set map[string]any) error {
	set["claude_token_file"] = d.tokenFile()
	text, err := json.Marshal(set)
	return errors.Join(err, os.WriteFile(d.settings, text, 0o600))
}

// problems is the check of what stops this person's own launches. The text of each says what to change.
func (d *doctor) problems(all []problem, check, detail string) {
	var err error
	for _, p := range all {
		if p.check == check {
			err = errors.Join(err, errors.New(p.text))
		}
	}
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	d.add(check, err, detail, "")
}

// checkDescriptorPath: without /dev/fd the hand-off cannot be tried, and no sandbox is at fault.
func (d *doctor) checkDescriptorPath() bool {
	if _, err := os.Stat("/dev/fd"); err != nil {
		return d.add("/dev/fd", errors.New("not there, and Claude Code reads its token by that path"), "", "ln -s /proc/self/fd /dev/fd")
	}
	return true
}

func (d *doctor) checkShim() bool {
	path := d.Places.Shim
	out, err := exec.Command(path, "--version").Output()
	if got := strings.TrimSpace(string(out)); err == nil && got != "shim "+shim.Version {
		err = fmt.Errorf("%s says %.80q, this is host %s", path, got, shim.Version)
	} else if err != nil {
		err = fmt.Errorf("%s: %s", path, host.Reason(err))
	}
	return d.add(checkShim, err, path, "install both programs of one version into one folder, or name it with --shim")
}

func (d *doctor) checkSandbox() bool {
	detail := "available"
	if abi := shim.LandlockABI(); abi > 0 {
		detail = fmt.Sprintf("Landlock %d", abi)
	}
	return d.add(checkSandbox, shim.SandboxSupported(), detail,
		"Linux 5.13 or later with landlock in /sys/kernel/security/lsm (add it to the lsm= boot parameter), or macOS")
}

// Inside is what a program in the sandbox found.
type Inside struct {
	Variable string `json:"variable"` // CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR
	Table    string `json:"table"`    // open descriptors
	Kind     string `json:"kind"`     // of descriptor 5
	Sum      string `json:"sha256"`   // of what it gave
	Again    string `json:"again"`    // what a second read gave
	Deny     string `json:"deny"`     // what opening the token file gave
	List     string `json:"list"`     // what listing its folder gave
}

// checkHandOff runs a target that looks around, and judges what it found.
func (d *doctor) checkHandOff() {
	var found Inside
	out, err := d.try("doctor", wire.CredentialToken, insideWithin, append(slices.Clone(d.Inside), d.tokenFile())...)
	if err == nil && json.Unmarshal(out, &found) != nil {
		err = fmt.Errorf("the target said %.200q", out)
	}
	if !d.add("launch", err, "a sandboxed target ran", "host status says what stops a launch") {
		return
	}
	const cure = "do not trust a sandbox on this machine, and report this"
	d.judge("deny", cure, "the token file is closed to the target, its folder is not", []compare{
		{"opening the token file", found.Deny, "permission denied"}, {"listing its folder", found.List, ""}})
	d.judge("pipe", cure, "the token came whole, once", []compare{
		{"descriptor 5", found.Kind, "pipe"}, {"SHA-256", found.Sum, d.sum}, {"a second read", found.Again, "EOF"}})
	d.judge("descriptor", cure, "0, 1, 2 and 5, and the variable says 5", []compare{
		{"descriptors", found.Table, "0 1 2 5"}, {shim.EnvTokenFD, found.Variable, "5"}})
}

// compare is one thing that was found beside what it should be.
type compare struct{ what, got, want string }

func (d *doctor) judge(name, cure, detail string, all []compare) {
	var err error
	for _, c := range all {
		if c.got != c.want {
			err = errors.Join(err, fmt.Errorf("%s: %q, want %q", c.what, c.got, c.want))
		}
	}
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	d.add(name, err, detail, cure)
}

// checkClaude asks the installed Claude Code whether it is logged in. To answer, that asks nobody else.
func (d *doctor) checkClaude() {
	path := host.FindProgram(settings.Claude.Command, d.Path, d.project)
	if path == "" && d.otherKeys && !d.ownToken {
		d.checks = append(d.checks, Check{Name: "claude", Result: CheckSkip, Detail: "not in PATH, and the settings name no token for it"})
		return
	}
	if path == "" {
		d.add("claude", errors.New("not in PATH, and templates run it"), "", "install Claude Code, or name a target: host run -- TARGET")
		return
	}
	var said struct {
		LoggedIn bool   `json:"loggedIn"`
		Method   string `json:"authMethod"`
	}
	out, err := d.try("claude-code", wire.CredentialAuto, claudeWithin, path, "auth", "status", "--json")
	switch {
	case err != nil:
	case json.Unmarshal(out, &said) != nil:
		err = fmt.Errorf("auth status said %.200q", out)
	case !said.LoggedIn || said.Method != "oauth_token":
		err = fmt.Errorf("auth status: loggedIn %v, authMethod %q", said.LoggedIn, said.Method)
	}
	cure := "update Claude Code: 2.1.197 is known to work; host run -- claude auth status shows the rest"
	if installer := settings.Claude.HalfInstalled(path); installer != "" {
		cure = "its package was installed without its set-up: node " + installer
	}
	d.add("claude", err, path+" is logged in by oauth_token", cure)
}

// try runs host run with a template of the trial's settings, and returns what the target printed.
func (d *doctor) try(template, credential string, within time.Duration, target ...string) ([]byte, error) {
	args := []string{"run", "--settings", d.settings, "--state-dir", filepath.Join(d.dir, "state"), "--shim", d.Places.Shim,
		"--dir", d.project, "--template", template, "--credential", credential, "--"}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.Host, append(args, target...)...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(d.dir, "data"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it then ends its session
	cmd.WaitDelay = endWithin
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no end within %v", within)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("exit status %d%s", exit.ExitCode(), lastError(exit.Stderr))
	}
	return out, err
}

// lastError is the last error line of the host or its shim, else the last line of all.
func lastError(stderr []byte) string {
	text := ""
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimSpace(line)
		_, message, isError := strings.Cut(line, ": error: ")
		switch {
		case isError:
			return ": " + message
		case line != "":
			text = ": " + line
		}
	}
	return fmt.Sprintf("%.500s", text)
}
