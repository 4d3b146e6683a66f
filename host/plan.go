package host

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"hostshim/host/sandbox"
	"hostshim/shim"
)

// planSandbox refuses a launch whose sandbox cannot be had here.
func (h *Host) planSandbox(p *plan, t Template) error {
	if err := shim.SandboxSupported(); err != nil {
		return &Refusal{SandboxUnavailable, err.Error()}
	}
	if p.ProfilePath != "" {
		return nil
	}
	var id [8]byte
	rand.Read(id[:])
	p.temp = filepath.Join(realTemp(), "relay-"+hex.EncodeToString(id[:]))
	if t.ownConfig {
		if h.Places.Data == "" {
			return &Refusal{SandboxUnavailable, "no home folder for Claude Code's configuration: set HOME or XDG_DATA_HOME"}
		}
		p.config = h.Places.claudeConfig()
	}
	return nil
}

// realTemp is the system's folder for temporary files, without links: profiles name real paths.
func realTemp() string {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return os.TempDir()
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// planEnv decides the child's environment (E01, E02, E03).
func (h *Host) planEnv(p *plan, t Template) error {
	own := []string{shim.EnvSessionID + "=" + p.SessionID}
	if socket := lookup(h.Base, shim.EnvBridgeSocket); socket != "" {
		own = append(own, shim.EnvBridgeSocket+"="+socket)
	}
	if p.temp != "" {
		own = append(own, "TMPDIR="+p.temp, "CLAUDE_CODE_TMPDIR="+p.temp)
	}
	fromTemplate := t.Env
	if p.config != "" {
		own = append(own, "CLAUDE_CONFIG_DIR="+p.config)
		fromTemplate = claudeEnv(p.config, os.Geteuid() == 0, p.network == shim.NetworkModel)
	}
	if p.credential != CredentialNone {
		own = append(own, shim.EnvTokenFD+"="+strconv.Itoa(shim.TokenFD))
	}
	env, warnings, err := buildEnv(envSpec{
		Base: h.Base, Template: fromTemplate, Request: p.Env, Passthrough: t.EnvPassthrough,
		ModelKey: p.ModelKey, Own: own, Credential: p.credential,
	})
	h.warnAll(warnings)
	if err != nil {
		return &Refusal{InvalidSpec, err.Error()}
	}
	p.env = env
	return nil
}

// planProfile writes the profile's text, still in memory.
func (h *Host) planProfile(p *plan, t Template, private []string) error {
	if !p.Sandbox || p.ProfilePath != "" {
		return nil
	}
	home, _ := os.UserHomeDir()
	private = append(private, h.Places.State, h.Places.Settings)
	port := shim.ModelPort
	if p.network == shim.NetworkModel && !hasOwnNetwork {
		base, err := h.listening()
		if err != nil {
			return &Refusal{SandboxUnavailable, err.Error()}
		}
		port = portOf(base)
	}
	readWrite := t.ReadWrite
	if p.config != "" {
		readWrite = append([]string{p.config}, readWrite...)
	}
	path := lookup(p.env, "PATH")
	profile, err := sandbox.Build(sandbox.Spec{
		GOOS: runtime.GOOS, Home: home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), WorkDir: p.Directory, TempDir: p.temp, UserTempDir: userTempDir(),
		Program: findProgram(p.argv[0], path, p.Directory), Path: path,
		Read: t.Read, ReadIfThere: t.readIfThere, ReadWrite: readWrite, Deny: t.Deny, Private: private,
		Network: p.network, ModelPort: port,
	})
	if err != nil {
		return &Refusal{SandboxUnavailable, err.Error()}
	}
	h.warnAll(profile.Warnings)
	p.profile = &profile
	return nil
}

// findProgram is where the shim will find name, "" if nowhere: the shim then says so, with its exit status.
func findProgram(name, path, dir string) string {
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

func (h *Host) warnAll(warnings []string) {
	for _, w := range warnings {
		h.Warn(w)
	}
}

// lookup is the last value of name in environ.
func lookup(environ []string, name string) (value string) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// portOf is the port of a base URL that this host made.
func portOf(base string) int {
	u, err := url.Parse(base)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}
