package host

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"hostshim/host/settings"
)

// agentEnv is what a built-in template sets for its agent. It counts as the template's, so a launch can say otherwise.
func agentEnv(a *settings.Agent, config string, root, model bool) map[string]string {
	env := maps.Clone(a.Env)
	for name, folder := range a.Cache {
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
// write there, so the name is taken exclusively: that follows no link and replaces nothing.
func writeFirstFile(a *settings.Agent, config string) error {
	f, err := os.OpenFile(filepath.Join(config, a.FirstFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(a.FirstText)
	return errors.Join(err, f.Close())
}
