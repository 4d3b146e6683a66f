package host

import (
	"fmt"
	"os"

	"hostshim/host/credential"
	"hostshim/shim"
)

// Status is what `host status` shows: places, and what would stop a launch. It holds no secret (H10).
type Status struct {
	Version  string      `json:"version"`
	Paths    StatusPaths `json:"paths"`
	Sandbox  string      `json:"sandbox"`
	Warnings []string    `json:"warnings"`
	Problems []string    `json:"problems"`
	Host     *HostStatus `json:"host,omitempty"` // the one that runs; nil: none does
}

// StatusPaths are the places in force. ClaudeTokenFile is the path as the settings have it, never a value.
type StatusPaths struct {
	Settings        string `json:"settings"`
	State           string `json:"state_dir"`
	Data            string `json:"data_dir"`
	Shim            string `json:"shim"`
	ClaudeTokenFile string `json:"claude_token_file"`
}

// Status looks at everything a launch would need, and changes nothing.
func (h *Host) Status() Status {
	p := h.Places
	s := Status{Version: Version, Sandbox: "available", Warnings: []string{}, Problems: []string{},
		Paths: StatusPaths{Settings: p.Settings, State: p.State, Data: p.Data, Shim: p.Shim}}
	problem := func(err error) { s.Problems = append(s.Problems, err.Error()) }

	settings, warnings, err := LoadSettings(p.Settings, p.Named)
	s.Warnings = append(s.Warnings, warnings...)
	if err != nil {
		problem(err)
	} else if s.Paths.ClaudeTokenFile = settings.ClaudeTokenFile; settings.ClaudeTokenFile != "" {
		path, err := credential.Expand("claude_token_file", settings.ClaudeTokenFile)
		if err == nil {
			var token credential.Secret
			token, warnings, err = credential.Read("claude_token_file", path)
			token.Wipe()
			s.Warnings = append(s.Warnings, warnings...)
		}
		if err != nil {
			problem(err)
		}
	}
	if err := shim.SandboxSupported(); err != nil {
		s.Sandbox = "not available"
		problem(err)
	}
	if info, err := os.Stat(p.Shim); err != nil {
		problem(fmt.Errorf("shim %s: %s", p.Shim, reason(err, "")))
	} else if info.Mode()&0o111 == 0 {
		problem(fmt.Errorf("shim %s: not executable", p.Shim))
	}
	if info, err := os.Stat(p.State); err == nil && info.Mode().Perm()&0o077 != 0 {
		problem(fmt.Errorf("%s: mode %04o lets other users in: chmod 700 %s", p.State, info.Mode().Perm(), p.State))
	}
	return s
}
