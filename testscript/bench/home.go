//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// home is the world of one host: its environment, and the folders that it names.
type home struct {
	env   []string
	state string
	token string // the file
}

// benchTemplate is what everything runs under: the least of a template that gets the token.
const benchTemplate = "bench"

func (b *bench) project() string { return filepath.Join(b.dir, "project") }

// newHome makes a home with a token file and settings; with the URL of an upstream the model proxy is configured too.
func (b *bench) newHome(name, upstream string) (*home, error) {
	dir := filepath.Join(b.dir, name)
	h := &home{state: filepath.Join(dir, "state")}
	h.env = []string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8", "TERM=xterm-256color",
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + h.state, "XDG_DATA_HOME=" + filepath.Join(dir, "data")}
	h.state = filepath.Join(h.state, "relay-host")
	config := filepath.Join(dir, "config", "relay")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	h.token = filepath.Join(config, "token")
	if err := os.WriteFile(h.token, []byte("sk-ant-oat01-bench\n"), 0o600); err != nil {
		return nil, err
	}
	settings := map[string]any{
		"claude_token_file":  h.token,
		"terminal_templates": []map[string]any{{"id": benchTemplate, "command": "/bin/true", "credential": "token"}},
	}
	if upstream != "" {
		settings["llm_proxy"] = map[string]any{"listen": "127.0.0.1:0", "upstream": upstream}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return nil, err
	}
	return h, os.WriteFile(filepath.Join(config, "settings.json"), text, 0o600)
}
