// Command relay speaks as the relay app and its session service do, so that scripts can try the pair as a whole:
//
//	relay [flags] console TEMPLATE [ARG…]        POST /launch for a terminal, from a template of the settings
//	relay [flags] claude SETTINGS [PROMPT]       … for a Claude session; SETTINGS is the client's JSON
//	relay [flags] resume ID                      … for the same session, from the ledger
//	relay [flags] end ID                         POST /terminate
//	relay [flags] shim pty|pipes|mcp SHIM TARGET [ARG…]   starts the shim by itself
//
// It reads settings.json by relay's rules, writes a profile, proves each launch's identity on the bridge socket, and
// takes the answer apart by relay's own member names. It prints what it saw, a line each: `hello: ok`, `status: 201`,
// `session: ID`, `terminal: …`, `event: …`. What relay itself would not have understood is an error, status 1.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

var (
	settingsFile = flag.String("settings", "", "relay's settings.json")
	socket       = flag.String("unix", "", "the session service's socket")
	bridgePath   = flag.String("bridge", os.Getenv("RELAY_BRIDGE_SOCKET"), "relay's bridge socket")
	bearerFile   = flag.String("bearer", "", "file with the session service's bearer")
	projectPath  = flag.String("project", ".", "the project's folder")
	data         = flag.String("data", "relay-data", "folder for profiles and the ledger")
	trace        = flag.String("trace", "", "X-Trace-Id")
)

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "relay: error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want console, claude, resume, end or shim, and more")
	}
	if err := os.MkdirAll(*data, 0o700); err != nil {
		return err
	}
	switch args[0] {
	case "console":
		return console(args[1], args[2:])
	case "claude":
		return claude(args[1], strings.Join(args[2:], " "))
	case "resume":
		return resume(args[1])
	case "end":
		status, _, err := post("/terminate", map[string]string{"session_id": args[1], "reason": "closed"})
		fmt.Println("status:", status)
		return err
	case "shim":
		return exec(args[1], args[2:])
	}
	return fmt.Errorf("unknown word %q", args[0])
}

// request is POST /launch's body: what has no omitempty is always there, null if need be.
type request struct {
	V              int               `json:"v"`
	SessionID      string            `json:"session_id"`
	Kind           string            `json:"kind"`
	Resume         bool              `json:"resume"`
	Project        *project          `json:"project"`
	Directory      string            `json:"directory"`
	Name           string            `json:"name"`
	TemplateID     string            `json:"template_id"`
	Argv           []string          `json:"argv,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	PTY            *size             `json:"pty"`
	Idle           int               `json:"idle_timeout_sec,omitempty"`
	Sandbox        *profile          `json:"sandbox"`
	Identity       *identity         `json:"identity"`
	ModelKey       string            `json:"model_key,omitempty"`
	SessionRequest json.RawMessage   `json:"session_request,omitempty"`
}

type (
	project struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Path string `json:"path"`
	}
	size struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}
	profile struct {
		Path string `json:"profile_path"`
	}
	identity struct {
		Secret string `json:"secret"`
	}
)

// newRequest is what every launch has: the project, a name, a profile of the template's folders.
func newRequest(id, kind string, t template) (*request, error) {
	dir, err := filepath.Abs(*projectPath)
	if err != nil {
		return nil, err
	}
	r := &request{V: 1, SessionID: id, Kind: kind, Project: &project{"p1", "My project", dir}, Directory: dir, Idle: 86400,
		Identity: &identity{secret()}}
	if kind != "pty" || t.sandboxed() {
		path, err := writeProfile(id, dir, t)
		if err != nil {
			return nil, err
		}
		r.Sandbox = &profile{path}
	}
	return r, nil
}

func console(templateID string, extra []string) error {
	s, err := readSettings(*settingsFile)
	if err != nil {
		return err
	}
	t, err := s.template(templateID)
	if err != nil {
		return err
	}
	r, err := newRequest(uuid(), "pty", t)
	if err != nil {
		return err
	}
	r.Name, r.TemplateID, r.PTY = t.Name, t.ID, &size{120, 40}
	r.Argv = append(t.argv(r.Project), extra...)
	if r.Env, err = t.environment(s); err != nil {
		return err
	}
	if t.IdleTimeout > 0 {
		r.Idle = t.IdleTimeout * 60
	}
	if t.ModelKey {
		r.ModelKey = "rmk_" + secret()
	}
	return launch(r)
}

func claude(clientSettings, prompt string) error {
	body := map[string]any{"projectId": "p1", "name": "New Session", "model": "sonnet"}
	if clientSettings != "" {
		body["settings"] = json.RawMessage(clientSettings)
	}
	if prompt != "" {
		body["systemPrompt"] = prompt
	}
	id := uuid()
	dir, err := filepath.Abs(*projectPath)
	if err != nil {
		return err
	}
	body["directory"] = dir
	stored, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if err := os.WriteFile(ledger(id), stored, 0o600); err != nil {
		return err
	}
	return launchClaude(id, stored, false)
}

func resume(id string) error {
	stored, err := os.ReadFile(ledger(id))
	if err != nil {
		return err
	}
	return launchClaude(id, stored, true)
}

func ledger(id string) string { return filepath.Join(*data, id+".ledger") }

func launchClaude(id string, sessionRequest []byte, again bool) error {
	s, err := readSettings(*settingsFile)
	if err != nil {
		return err
	}
	t, _ := s.template("claude-code") // without one the session has its project alone
	r, err := newRequest(id, "claude", t)
	if err != nil {
		return err
	}
	r.Name, r.Resume, r.SessionRequest = "New Session", again, sessionRequest
	return launch(r)
}

func secret() string {
	var b [32]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
