package host

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
)

// doctor tries launches with settings, state and token of its own, below one temporary folder.
type doctor struct {
	host    *Host
	dir     string
	project string // working folder of the trials; the token lies in it, so that its deny is inside a grant
	sum     string // of the token
	checks  []Check
}

// Doctor tries the real path end to end with a throw-away token. Inside is the command that looks around in the
// sandbox: Inside with the token file's path as its argument.
func (h *Host) Doctor(inside []string) ([]Check, error) {
	dir, err := os.MkdirTemp(realTemp(), "relay-doctor-")
	if err != nil {
		return nil, err
	}
	defer removeTree(dir)
	d := &doctor{dir: dir, project: filepath.Join(dir, "project")}
	if err := d.prepare(h); err != nil {
		return nil, err
	}
	d.settings(h)
	if d.shim() && d.sandbox() {
		d.handOff(inside)
		d.claude()
		d.broker(inside)
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
func (d *doctor) prepare(h *Host) error {
	var raw [32]byte
	rand.Read(raw[:])
	token := []byte("sk-ant-oat01-" + hex.EncodeToString(raw[:]))
	d.sum = fmt.Sprintf("%x", sha256.Sum256(token))
	file := filepath.Join(d.project, "token")
	settings, err := json.Marshal(map[string]any{
		"claude_token_file":  file,
		"terminal_templates": []map[string]string{{"id": "doctor", "credential": CredentialToken}},
	})
	places := Places{Settings: filepath.Join(d.dir, "settings.json"), Named: true, State: filepath.Join(d.dir, "state"),
		Data: filepath.Join(d.dir, "data"), Shim: h.Places.Shim}
	d.host = New(places, h.Base, func(string) {})
	return errors.Join(err, os.Mkdir(d.project, 0o700), os.WriteFile(file, token, 0o600), os.WriteFile(places.Settings, settings, 0o600))
}

// settings are the person's own: what would stop a launch.
func (d *doctor) settings(h *Host) {
	s := h.Status()
	var err error
	if len(s.Problems) > 0 {
		err = errors.New(strings.Join(s.Problems, "; "))
	}
	d.add("settings", err, s.Paths.Settings, "host status lists each; the path in it says what to change")
}

func (d *doctor) shim() bool {
	path := d.host.Places.Shim
	out, err := exec.Command(path, "--version").Output()
	if got := strings.TrimSpace(string(out)); err == nil && got != "shim "+Version {
		err = fmt.Errorf("%s says %.80q, this is host %s", path, got, Version)
	} else if err != nil {
		err = fmt.Errorf("%s: %s", path, reason(err, ""))
	}
	return d.add("shim", err, path, "install both programs of one version into one folder, or name it with --shim")
}

func (d *doctor) sandbox() bool {
	detail := "available"
	if abi := shim.LandlockABI(); abi > 0 {
		detail = fmt.Sprintf("Landlock %d", abi)
	}
	return d.add("kernel sandbox", shim.SandboxSupported(), detail,
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

// handOff runs a target that looks around, and judges what it found.
func (d *doctor) handOff(inside []string) {
	var found Inside
	file := filepath.Join(d.project, "token")
	out, err := d.try(&Request{TemplateID: "doctor", Argv: append(inside, file)}, insideWithin)
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

// claude asks an installed Claude Code whether it is logged in. It asks nobody else for that.
func (d *doctor) claude() {
	path := findProgram("claude", lookup(d.host.Base, "PATH"), d.project)
	if path == "" {
		d.checks = append(d.checks, Check{Name: "claude", Result: CheckSkip, Detail: "not in PATH"})
		return
	}
	var said struct {
		LoggedIn bool   `json:"loggedIn"`
		Method   string `json:"authMethod"`
	}
	out, err := d.try(&Request{TemplateID: "claude-code", Argv: []string{path, "auth", "status", "--json"}}, claudeWithin)
	switch {
	case err != nil:
	case json.Unmarshal(out, &said) != nil:
		err = fmt.Errorf("auth status said %.200q", out)
	case !said.LoggedIn || said.Method != "oauth_token":
		err = fmt.Errorf("auth status: loggedIn %v, authMethod %q", said.LoggedIn, said.Method)
	}
	d.add("claude", err, path+" is logged in by oauth_token", "update Claude Code: 2.1.197 is known to work; host run -- claude auth status shows the rest")
}

// try launches as host run does, on pipes, and returns what the target printed.
func (d *doctor) try(r *Request, within time.Duration) ([]byte, error) {
	r.SessionID, r.Kind, r.Directory, r.Sandbox = NewSessionID("doctor"), KindRun, d.project, true
	streams, err := openStreams(KindRun, 0, 0)
	if err != nil {
		return nil, err
	}
	running, err := d.host.start(r, streams.child, nil)
	streams.closeChild()
	if err != nil {
		streams.close()
		return nil, err
	}
	streams.endInput()
	running.token.Wipe()
	var out output
	said := &stderrLog{log: discard}
	streams.pump(streams.out, &out)
	streams.pump(streams.err, said)
	timer := time.AfterFunc(within, func() { running.shim.signal(syscall.SIGKILL) })
	_, err = running.awaitStart(0)
	status, _ := running.wait()
	late := !timer.Stop()
	streams.finish()
	said.end()
	running.cleanUp()
	lines := said.tail()
	switch {
	case late:
		return nil, fmt.Errorf("no end within %v", within)
	case status != 0 && len(lines) > 0:
		return nil, fmt.Errorf("exit status %d: %s", status, lines[len(lines)-1])
	case err != nil:
		return nil, err
	case status != 0:
		return nil, fmt.Errorf("exit status %d", status)
	}
	return out.snapshot(), nil
}
