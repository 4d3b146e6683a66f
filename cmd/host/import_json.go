package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host"
	"hostshim/host/settings"
)

// maxClaudeState bounds ~/.claude.json, which grows with every project, in bytes.
const maxClaudeState = 32 << 20

type object = map[string]json.RawMessage

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// credentialSettings are keys of settings.json that name, fetch or lead to a credential.
var credentialSettings = []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper"}

// settings takes settings.json without what is about credentials.
func (in *imported) settings(root *os.Root) error {
	const name = "settings.json"
	text, mode, err := readPlain(root, name)
	switch info, gone := root.Lstat(name); {
	case errors.Is(gone, fs.ErrNotExist):
		return nil
	case gone == nil && info.Mode()&fs.ModeSymlink != 0:
		in.leave(name, "a link")
		return nil
	case err != nil:
		return err
	}
	var all object
	if json.Unmarshal(text, &all) != nil {
		in.leave(name, "not a JSON object")
		return nil
	}
	for _, key := range sortedKeys(all) {
		switch {
		case slices.Contains(credentialSettings, key):
			in.leave(name+": "+key, "it gets a credential")
			delete(all, key)
		case key == "env":
			all[key] = in.variables(name+": env", all[key])
		case host.UsualCredential(key) || secretJSON(all[key]):
			in.leave(name+": "+key, "holds what looks like a credential")
			delete(all, key)
		}
	}
	text, err = json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return in.add(importFile{name, append(text, '\n'), mode})
}

// variables leaves out those that are named as credentials are or look like one, and those that lead the agent elsewhere.
func (in *imported) variables(where string, text json.RawMessage) json.RawMessage {
	var env object
	if json.Unmarshal(text, &env) != nil {
		in.leave(where, "not a JSON object")
		return json.RawMessage("{}")
	}
	for _, name := range sortedKeys(env) {
		value := string(env[name])
		switch {
		case reference(value):
		case header(where) || host.UsualCredential(name) || secretJSON(env[name]):
			in.leave(where+": "+name, "may be a credential")
			delete(env, name)
		case name == settings.Claude.BaseURL || strings.HasPrefix(name, "CLAUDE_CODE_USE_"):
			in.leave(where+": "+name, "leads Claude Code past the host")
			delete(env, name)
		}
	}
	kept, _ := json.Marshal(env)
	return kept
}

// header: an HTTP header of a server is there to log in, whatever its name.
func header(where string) bool { return strings.HasSuffix(where, ": headers") }

// reference says whether a JSON text only names a variable, as "${TOKEN}" does: the session's environment decides then.
func reference(text string) bool {
	name := strings.Trim(text, `"`)
	return strings.HasPrefix(name, "${") && strings.HasSuffix(name, "}") && !strings.ContainsAny(name[2:], "$:- {") && strings.Count(name, "}") == 1
}

// mcpServers takes the servers of ~/.claude.json that are for all projects, without their credentials.
func (in *imported) mcpServers() error {
	file := claudeState()
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil // no home folder, no servers
	}
	defer root.Close()
	info, err := root.Lstat(filepath.Base(file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxClaudeState:
		in.leave(file, "a link, no file, or larger than 32 MiB")
		return nil
	}
	text, err := root.ReadFile(filepath.Base(file))
	if err != nil {
		return err
	}
	var all struct {
		Servers map[string]object `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		in.leave(file, "not the JSON that was expected")
		return nil
	}
	for _, name := range sortedKeys(all.Servers) {
		in.server(name, all.Servers[name])
	}
	return nil
}

// server takes one. What stands in its address or arguments cannot be taken out of them, so the whole server stays.
func (in *imported) server(name string, s object) {
	what := "MCP server " + name
	for _, key := range []string{"env", "headers"} {
		if s[key] != nil {
			s[key] = in.variables(what+": "+key, s[key])
		}
	}
	for _, key := range sortedKeys(s) {
		var text string
		json.Unmarshal(s[key], &text)
		u, err := url.Parse(text)
		inURL := key == "url" && (err != nil || u.User != nil || u.RawQuery != "")
		if inURL || key == "headersHelper" || key == "oauth" || key != "env" && key != "headers" && secretJSON(s[key]) {
			in.leave(what, "its "+key+" may hold a credential: add it by hand")
			return
		}
	}
	in.servers[name], _ = json.Marshal(s)
}

// addServers adds the MCP servers to the agent's own file, beside what is there.
func (in *imported) addServers(root *os.Root, dir string) error {
	if len(in.servers) == 0 {
		return nil
	}
	name := settings.Claude.FirstFile
	all, servers := object{}, object{}
	text := []byte(settings.Claude.FirstText)
	if info, err := root.Lstat(name); err == nil {
		if !info.Mode().IsRegular() || info.Size() > maxClaudeState {
			return fmt.Errorf("%s is no file that could be read: look at it", filepath.Join(dir, name))
		}
		if text, err = root.ReadFile(name); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	if all["mcpServers"] != nil && json.Unmarshal(all["mcpServers"], &servers) != nil {
		return fmt.Errorf("%s: mcpServers is no object", filepath.Join(dir, name))
	}
	for _, id := range sortedKeys(in.servers) {
		if servers[id] != nil {
			fmt.Printf("  kept   MCP server %s, which %s has already\n", plain(id), oneLine(dir))
			continue
		}
		servers[id] = in.servers[id]
	}
	var err error
	if all["mcpServers"], err = json.Marshal(servers); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(all); err != nil {
		return err
	}
	// By rename: a session's link of that name is replaced, not followed.
	const fresh = ".claude.json.import"
	root.Remove(fresh)
	if err := writeInRoot(root, fresh, out.Bytes(), 0o600); err != nil {
		return err
	}
	return root.Rename(fresh, name)
}
