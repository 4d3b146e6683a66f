package doctor

import (
	"fmt"
	"os"
	"runtime"

	"hostshim/host"
	"hostshim/host/credential"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Status is what `host status` shows: places, and what would stop a launch. It holds no secret (H10).
type Status struct {
	Version string      `json:"version"`
	Paths   StatusPaths `json:"paths"`
	Sandbox string      `json:"sandbox"`

	Denied   []sandbox.Closed `json:"denied"` // what every sandbox is denied (X06, X12, X16)
	Warnings []string         `json:"warnings"`
	Problems []string         `json:"problems"`
	Host     *wire.Host       `json:"host,omitempty"` // the one that runs; nil: none does
}

// StatusPaths are the places in force. ClaudeTokenFile is the path as the settings have it, never a value.
type StatusPaths struct {
	Settings        string `json:"settings"`
	State           string `json:"state_dir"`
	Data            string `json:"data_dir"`
	Shim            string `json:"shim"`
	ClaudeTokenFile string `json:"claude_token_file"`
}

// Look looks at everything a launch would need, and changes nothing.
func Look(p state.Places) Status {
	s := Status{Version: shim.Version, Sandbox: "available", Warnings: []string{}, Problems: []string{}, Denied: []sandbox.Closed{},
		Paths: StatusPaths{Settings: p.Settings, State: p.State, Data: p.Data, Shim: p.Shim}}
	problem := func(err error) { s.Problems = append(s.Problems, err.Error()) }

	set, warnings, err := settings.Load(p.Settings, p.Named)
	s.Warnings = append(s.Warnings, warnings...)
	if err != nil {
		problem(err)
	} else {
		s.Paths.ClaudeTokenFile = set.ClaudeTokenFile
		s.Denied, warnings = lookAtPrivate(p, set, problem)
		s.Warnings = append(s.Warnings, warnings...)
	}
	if err := shim.SandboxSupported(); err != nil {
		s.Sandbox = "not available"
		problem(err)
	}
	if info, err := os.Stat(p.Shim); err != nil {
		problem(fmt.Errorf("shim %s: %s", p.Shim, host.Reason(err)))
	} else if info.Mode()&0o111 == 0 {
		problem(fmt.Errorf("shim %s: not executable", p.Shim))
	}
	if info, err := os.Stat(p.State); err == nil {
		if err := state.JudgePrivate(p.State, info); err != nil {
			problem(err)
		}
	}
	if err := p.CheckWritable(); err != nil {
		problem(err)
	}
	return s
}

// lookAtPrivate looks at what every sandbox is denied: whether that can be done, and whether there is a usable token.
func lookAtPrivate(p state.Places, set *settings.Settings, problem func(error)) (denied []sandbox.Closed, warnings []string) {
	private, err := set.TokenFiles()
	if err != nil {
		problem(err)
		return []sandbox.Closed{}, nil
	}
	if set.ClaudeTokenFile != "" {
		var token credential.Secret
		if token, warnings, err = credential.Read("claude_token_file", private[0]); err != nil {
			problem(err)
		}
		token.Wipe()
	}
	home, _ := os.UserHomeDir()
	denied, err = sandbox.Always(sandbox.Spec{
		GOOS: runtime.GOOS, Home: home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), Private: append(private, p.State, p.Settings),
	})
	if err != nil {
		problem(err)
	}
	return denied, warnings
}
