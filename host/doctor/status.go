package doctor

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"hostshim/host"
	"hostshim/host/credential"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Status is what `host status` shows: places, templates, and what would stop a launch. It holds no secret (H10).
type Status struct {
	Version   string           `json:"version"`
	Paths     StatusPaths      `json:"paths"`
	Sandbox   string           `json:"sandbox"`
	Templates []StatusTemplate `json:"templates"`
	Clients   []StatusTemplate `json:"clients"` // of the model proxy, that have settings of their own
	Services  []StatusTemplate `json:"services"`
	Denied    []sandbox.Closed `json:"denied"` // what every sandbox is denied (X06, X12, X16)
	Warnings  []string         `json:"warnings"`
	Problems  []string         `json:"problems"`
	Host      *wire.Host       `json:"host,omitempty"` // the one that runs; nil: none does
}

// StatusPaths are the places in force. ClaudeTokenFile is the path as the settings have it, never a value.
type StatusPaths struct {
	Settings        string `json:"settings"`
	State           string `json:"state_dir"`
	Data            string `json:"data_dir"`
	Shim            string `json:"shim"`
	ClaudeTokenFile string `json:"claude_token_file"`
}

// StatusTemplate is a template in force, or a client or a service of the model proxy. Of variables it has the names alone.
type StatusTemplate struct {
	ID   string `json:"id"`
	Text string `json:"text"` // key: value, key: value
}

// problem is what would stop a launch.
type problem struct {
	check string // of the doctor, that it fails
	text  string // with the cure
}

// Checks of the doctor that problems fail.
const (
	checkSettings = "settings"
	checkToken    = "token"
	checkState    = "state folder"
	checkAgents   = "agents"
	checkSandbox  = "kernel sandbox"
	checkShim     = "shim"
	checkNetwork  = "model network"

	checkTemplates = "templates"
)

// Look looks at everything a launch would need, and changes nothing.
func Look(p state.Places) Status {
	s, problems := look(p)
	if shim.SandboxSupported() == nil && host.OwnNetworks {
		if err := host.TryOwnNetwork(p.Shim); err != nil {
			s.Sandbox = "available, but for the model network"
			problems = append(problems, problem{checkNetwork, err.Error()})
		}
	}
	for _, found := range problems {
		s.Problems = append(s.Problems, found.text)
	}
	return s
}

// look does not try what starts a process.
func look(p state.Places) (s Status, problems []problem) {
	s = Status{Version: shim.Version, Sandbox: "available", Templates: []StatusTemplate{}, Clients: []StatusTemplate{}, Services: []StatusTemplate{}, Denied: []sandbox.Closed{}, Warnings: []string{}, Problems: []string{},
		Paths: StatusPaths{Settings: p.Settings, State: p.State, Data: p.Data, Shim: p.Shim}}
	found := func(check string, err error) {
		if err != nil {
			problems = append(problems, problem{check, err.Error()})
		}
	}
	found(checkState, p.CheckWritable())
	set, warnings, err := settings.Load(p.Settings, p.Named)
	s.Warnings = append(s.Warnings, warnings...)
	if err != nil {
		found(checkSettings, err)
	} else {
		s.Paths.ClaudeTokenFile = set.ClaudeTokenFile
		s.Denied, warnings = lookAtTokens(p, set, found)
		s.Warnings = append(s.Warnings, warnings...)
		for _, t := range set.All() {
			s.Templates = append(s.Templates, shown(t.ID, t.Shown()))
			wrong, warnings := lookAtTemplate(set, t)
			for _, err := range wrong {
				found(checkTemplates, err)
			}
			s.Warnings = append(s.Warnings, warnings...)
		}
		for _, id := range set.Clients() {
			own, _ := set.Access(id) // lookAtTokens says what is wrong with it
			s.Clients = append(s.Clients, shown(id, own.Shown()))
			found(checkAgents, installed(set.AgentOf(id), id))
		}
		for _, id := range set.Services() {
			own, _ := set.ServiceAccess(id)
			s.Services = append(s.Services, shown(id, own.Shown()))
		}
	}
	if err := shim.SandboxSupported(); err != nil {
		s.Sandbox = "not available"
		found(checkSandbox, err)
	}
	if info, err := os.Stat(p.Shim); err != nil {
		found(checkShim, fmt.Errorf("shim %s: %s", p.Shim, host.Reason(err)))
	} else if info.Mode()&0o111 == 0 {
		found(checkShim, fmt.Errorf("shim %s: not executable", p.Shim))
	}
	return s, problems
}

// installed: an agent that somebody gave a key should be there. The other templates are there for whoever wants them.
func installed(a *settings.Agent, clientID string) error {
	if a == nil || host.FindProgram(a.Command, os.Getenv("PATH"), "/") != "" {
		return nil
	}
	return fmt.Errorf("llm_proxy.clients.%s: %q is not in PATH, and the template runs it: npm install -g %s", clientID, a.Command, a.Package)
}

func shown(id string, keys []settings.Key) StatusTemplate {
	var all []string
	for _, k := range keys {
		all = append(all, k.Name+": "+k.Text)
	}
	return StatusTemplate{id, strings.Join(all, ", ")}
}

// lookAtTokens looks at the files that hold credentials: whether there is a usable one, and whether a sandbox can deny them.
func lookAtTokens(p state.Places, set *settings.Settings, found func(string, error)) (denied []sandbox.Closed, warnings []string) {
	all, err := set.Accesses()
	found(checkToken, err)
	if len(all) == 0 && err == nil {
		found(checkToken, fmt.Errorf("no token is configured: run claude setup-token, then host init, "+
			"or name a file of mode 0600 as claude_token_file in %s", p.Settings))
	}
	for _, own := range all {
		token, more, err := credential.Read(own.Key, own.Path)
		found(checkToken, err)
		token.Wipe()
		warnings = append(warnings, more...)
	}
	home := host.HomeFolder()
	granted, err := p.Granted()
	found(checkSettings, err)
	denied, err = sandbox.Always(sandbox.Spec{
		GOOS: runtime.GOOS, Home: home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), Private: append(set.TokenFiles(), p.State, p.Settings), Settings: p.Settings, Granted: granted,
	})
	found(checkSettings, err)
	return denied, warnings
}
