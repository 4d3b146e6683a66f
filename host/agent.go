package host

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hostshim/host/settings"
)

// agentEnv is what a built-in template sets for its agent. It counts as the template's, so a launch can say otherwise.
func agentEnv(a *settings.Agent, config string, root, model bool) map[string]string {
	env := maps.Clone(a.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, folder := range a.Folders {
		env[name] = filepath.Join(config, folder)
	}
	if model {
		maps.Copy(env, a.ClosedEnv)
	}
	if root {
		maps.Copy(env, a.RootEnv)
	}
	return env
}

// writeFirstFile spares a person the agent's first steps, where its configuration folder is new. Earlier sessions could
// write there, so no link out of the folder is followed, and nothing is replaced.
func writeFirstFile(a *settings.Agent, config string) error {
	root, err := os.OpenRoot(config)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(a.FirstFile), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(a.FirstFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(a.FirstText)
	return errors.Join(err, f.Close())
}

// conversation is the id of the conversation that Claude Code continued last, in its configuration folder and for the
// folder dir, if that was after since; else "". Sessions write there: what is no id is nothing.
func conversation(config, dir string, since time.Time) (id string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	name := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, dir)
	files, err := os.ReadDir(filepath.Join(config, "projects", name))
	if err != nil {
		return ""
	}
	for _, f := range files {
		info, err := f.Info()
		text, ok := strings.CutSuffix(f.Name(), ".jsonl")
		if err == nil && ok && info.Mode().IsRegular() && isUUID(text) && info.ModTime().After(since) {
			id, since = text, info.ModTime()
		}
	}
	return id
}

func isUUID(text string) bool {
	for i, c := range text {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return len(text) == 36
}
