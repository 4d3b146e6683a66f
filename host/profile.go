package host

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/sandbox"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// planSandbox refuses a launch whose sandbox cannot be had here, and names the folders that the session gets.
func (h *Host) planSandbox(p *Plan, t settings.Template) error {
	if !p.Sandboxed {
		if len(p.request.Read)+len(p.request.ReadWrite) > 0 {
			return invalid("--read and --write add to a sandbox, and the session has none")
		}
		return nil
	}
	if err := shim.SandboxSupported(); err != nil {
		return unavailable(err)
	}
	if p.request.ProfilePath != "" {
		return nil
	}
	if err := h.planCache(p, t); err != nil {
		return unavailable(err)
	}
	if t.Agent == nil {
		return nil
	}
	if p.config = h.config.Places.AgentFolder(t.Agent.Folder); p.config == "" {
		return unavailable(errors.New("no home folder for " + t.Agent.Name + "'s configuration: set HOME or XDG_DATA_HOME"))
	}
	if err := h.config.Places.CheckData(p.config); err != nil {
		return unavailable(err)
	}
	return nil
}

// planCache names the folder for what the session's tools write always: one that is kept for the template, or where there can
// be none, one in the session's temporary folder.
func (h *Host) planCache(p *Plan, t settings.Template) (err error) {
	if shim.ValidSessionID(t.ID) {
		p.cache, err = h.config.Places.CacheFolder(t.ID, p.Credential == wire.CredentialPairing)
	}
	p.cache = cmp.Or(p.cache, filepath.Join(p.temp, "cache"))
	return err
}

// planEnv decides the child's environment (E01, E02, E03).
func (h *Host) planEnv(p *Plan, t settings.Template) error {
	if err := p.planFills(t); err != nil {
		return err
	}
	own := []string{shim.EnvSessionID + "=" + p.request.SessionID}
	if socket := lookup(h.config.Environ, shim.EnvBridgeSocket); socket != "" {
		own = append(own, shim.EnvBridgeSocket+"="+socket)
	}
	if p.ownProfile() {
		// zsh writes its here-documents to /tmp unless it is told another place.
		own = append(own, "TMPDIR="+p.temp, "CLAUDE_CODE_TMPDIR="+p.temp, "TMPPREFIX="+p.temp+"/zsh")
		own = append(own, systemTempEnv(p.temp)...)
	}
	fromTemplate := t.Env
	if p.config != "" {
		own = append(own, t.Agent.ConfigVar+"="+p.config)
		fromTemplate = agentEnv(t.Agent, p.config, os.Geteuid() == 0, p.network != shim.NetworkOpen)
		maps.Copy(fromTemplate, t.Env)
	}
	if p.Credential != wire.CredentialNone {
		own = append(own, shim.EnvTokenFD+"="+strconv.Itoa(shim.TokenFD))
	}
	port, err := h.proxyPort(p)
	if err != nil {
		return unavailable(err)
	}
	env, warnings, err := buildEnv(envSpec{
		Base: p.proxied(h.config.Environ, port), Template: fromTemplate, Request: p.request.Env, Own: own, ModelKey: p.request.ModelKey,
		Passthrough: slices.Concat(t.EnvPassthrough, p.request.KeepEnv), Credential: p.Credential,
		ByHand: p.request.ByHand, Guarded: p.Sandboxed && p.request.Kind == wire.KindRun,
	})
	h.warnAll(warnings)
	if err != nil {
		return invalid("%v", err)
	}
	p.env = env
	return p.checkGitConfig()
}

// planProfile makes the profile's text. It stays in memory until the launch.
func (h *Host) planProfile(p *Plan, t settings.Template, private []string) error {
	if !p.ownProfile() {
		return nil
	}
	home := HomeFolder()
	if err := refuseHome(p.request.Directory, home, t); err != nil {
		return err
	}
	private = append(private, h.config.Places.State, h.config.Places.Settings)
	port, err := h.proxyPort(p)
	if err != nil {
		return unavailable(err)
	}
	readWrite := t.ReadWrite
	if filepath.Dir(p.cache) != p.temp {
		readWrite = append([]string{p.cache + "/"}, readWrite...) // a folder, whatever the template's id looks like
	}
	if p.config != "" {
		readWrite = append([]string{p.config}, readWrite...)
	}
	granted, err := h.config.Places.Granted()
	if err != nil {
		return unavailable(err)
	}
	path := lookup(p.env, "PATH")
	spec := sandbox.Spec{
		GOOS: runtime.GOOS, Home: home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), WorkDir: p.request.Directory, TempDir: p.temp, UserTempDir: state.UserTemp(),
		Program: FindProgram(p.argv[0], path, p.request.Directory), Path: path,
		Read: t.Read, ReadIfThere: t.ReadIfThere, ReadWrite: readWrite, Deny: t.Deny, Granted: granted, Kept: h.config.Places.Data, Private: private, Settings: h.config.Places.Settings,
		Network: p.profileNetwork(), ModelPort: port, Terminals: p.terminals, ListAbove: t.Agent != nil && t.Agent.ListsAbove,
	}
	p.named(&spec)
	profile, err := sandbox.Build(spec)
	if err != nil {
		return unavailable(err)
	}
	h.warnAll(profile.Warnings)
	p.profile = profile
	return nil
}

// HomeFolder is the user's home, which holds what is private whether or not HOME is set (X16); "": nobody says where.
func HomeFolder() string {
	home, _ := credential.Home()
	return home
}

// ownProfile says whether the host writes the session's profile.
func (p *Plan) ownProfile() bool { return p.Sandboxed && p.request.ProfilePath == "" }

// tempFolder names the session's temporary folder, where it needs one: to work in, or for its system prompt.
func (p *Plan) tempFolder() (string, error) {
	if c := p.request.Claude; !p.ownProfile() && (c == nil || c.SystemPrompt == "") {
		return "", nil
	}
	return state.TempFolder()
}

// refuseHome refuses the home folder, and what holds it, as a place to work in: the session could read and change all that
// a person has (X16). A template that grants the folder by name is meant so.
func refuseHome(dir, home string, t settings.Template) error {
	place := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return filepath.Clean(path)
	}
	around := func(outer, path string) bool {
		return outer == "/" || path == outer || strings.HasPrefix(path, outer+"/")
	}
	dir, home = place(dir), place(home)
	if !filepath.IsAbs(home) || !around(dir, home) {
		return nil
	}
	for _, entry := range t.ReadWrite {
		if rest, ok := strings.CutPrefix(entry, "~"); ok {
			entry = home + rest
		}
		if around(place(entry), dir) {
			return nil
		}
	}
	if dir != home { // "/", say: no template grants that
		return invalid(`directory %q holds your home folder: name a project with --dir, or start in it`, dir)
	}
	return invalid(`directory %q is your home folder: name a project with --dir, or grant the folder by name, as with "read_write": ["~"] in a template`, dir)
}

// profilePath is where the session's profile lies; "" unsandboxed.
func (h *Host) profilePath(p *Plan) string {
	if p.profile == nil {
		return p.request.ProfilePath
	}
	return filepath.Join(h.config.Places.Profiles(), p.request.SessionID+p.profile.Ext)
}

// executable says whether a program is there and may be run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// FindProgram is where the shim will find name, "" if nowhere: the shim then says so, with its exit status.
func FindProgram(name, path, dir string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name
	}
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file
		}
	}
	return ""
}
