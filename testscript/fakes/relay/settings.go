package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// settings is what relay reads of its own file.
type settings struct {
	Templates []template `json:"terminal_templates"`
	Endpoint  struct {
		Listen string `json:"listen"`
	} `json:"model_endpoint"`
}

type template struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Command     string            `json:"command"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Passthrough []string          `json:"env_passthrough"`
	IdleTimeout int               `json:"idleTimeout"` // minutes
	Sandbox     *bool             `json:"sandbox"`
	Read        []string          `json:"read"`
	ReadWrite   []string          `json:"read_write"`
	ModelKey    bool              `json:"model_key"`
}

func readSettings(path string) (*settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &settings{}
	return s, json.Unmarshal(text, s)
}

func (s *settings) template(id string) (template, error) {
	for _, t := range s.Templates {
		if t.ID == id {
			return t, nil
		}
	}
	return template{}, fmt.Errorf("no template %q", id)
}

func (t template) sandboxed() bool { return t.Sandbox == nil || *t.Sandbox }

// argv is the command line that relay makes of a template: here the shell, where it names no command.
func (t template) argv(p *project) []string {
	command := t.Command
	if command == "" {
		if command = os.Getenv("SHELL"); command == "" {
			command = "/bin/zsh"
		}
	}
	fill := strings.NewReplacer("${PROJECT_PATH}", p.Path, "${PROJECT_ID}", p.ID)
	argv := []string{fill.Replace(command)}
	for _, arg := range t.Args {
		argv = append(argv, fill.Replace(arg))
	}
	return argv
}

func (t template) environment(s *settings) (map[string]string, error) {
	env := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
	maps.Copy(env, t.Env)
	for name, value := range t.Env {
		if strings.Contains(value, "${MODEL_ENDPOINT_URL}") {
			if s.Endpoint.Listen == "" {
				return nil, fmt.Errorf("template %q wants model_endpoint.listen", t.ID)
			}
			env[name] = strings.ReplaceAll(value, "${MODEL_ENDPOINT_URL}", "http://"+s.Endpoint.Listen)
		}
	}
	for _, name := range t.Passthrough {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return env, nil
}

// writeProfile writes the sandbox that relay wants: the system, the project, and the template's folders, as far as they
// are there.
func writeProfile(id, dir string, t template) (path string, err error) {
	read, write := []string{"/usr", "/bin", "/sbin", "/etc", "/proc", "/sys"}, []string{dir, os.TempDir()}
	read = append(append(read, "/lib", "/lib64"), filepath.SplitList(os.Getenv("PATH"))...)
	read, write = there(append(read, t.Read...)), there(append(write, t.ReadWrite...))
	text, extension := seatbelt(read, write), ".sb"
	if runtime.GOOS == "linux" {
		extension = ".json"
		if text, err = json.Marshal(map[string]any{"version": 1, "read": read, "read_write": write, "deny": []string{}, "network": "open",
			"devices": []string{"/dev/null", "/dev/zero", "/dev/urandom", "/dev/tty"}}); err != nil {
			return "", err
		}
	}
	if path, err = filepath.Abs(filepath.Join(*data, id+extension)); err != nil {
		return "", err
	}
	os.Remove(path) // of the launch before
	return path, os.WriteFile(path, text, 0o600)
}

// there are the real places of the entries that exist.
func there(entries []string) (paths []string) {
	home, _ := os.UserHomeDir()
	for _, entry := range entries {
		if entry == "~" || strings.HasPrefix(entry, "~/") {
			entry = home + entry[1:]
		}
		if real, err := filepath.EvalSymlinks(entry); err == nil {
			paths = append(paths, real)
		}
	}
	return paths
}

func seatbelt(read, write []string) []byte {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-read* file-write*)\n")
	for _, path := range read {
		fmt.Fprintf(&b, "(allow file-read* (subpath %q))\n", path)
	}
	for _, path := range write {
		fmt.Fprintf(&b, "(allow file-read* file-write* (subpath %q))\n", path)
	}
	return []byte(b.String())
}
