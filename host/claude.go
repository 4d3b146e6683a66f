package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// claudeConfig is the configuration of Claude Code that the host owns (X05).
func (p Places) claudeConfig() string { return filepath.Join(p.Data, "claude") }

// claudeEnv is the environment of the built-in templates' sandboxed launches. It is the template's: a launch can
// say otherwise.
func claudeEnv(config string, root, model bool) map[string]string {
	cache := filepath.Join(config, "cache")
	env := map[string]string{
		// The program is read-only in there, so an update can only fail, with a complaint on the screen each time.
		"DISABLE_AUTOUPDATER": "1",
		// What an agent runs keeps caches in the home folder, which is shut: go build and npm install give up then.
		// The user's own caches are no place for a session to write, for the user runs what comes out of them.
		"XDG_CACHE_HOME":   cache,
		"GOMODCACHE":       filepath.Join(cache, "go-mod"),
		"npm_config_cache": filepath.Join(cache, "npm"),
	}
	if model {
		// What it would tell others than the model can only fail, half a second late.
		env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
	}
	if root {
		// Claude Code refuses to work unasked as root, unless it is told that it is in a sandbox, which it is:
		// without capabilities this root is no more than an ordinary user.
		env["IS_SANDBOX"] = "1"
	}
	return env
}

// welcomed is the least that spares a person Claude Code's first steps.
const welcomed = `{"hasCompletedOnboarding":true}` + "\n"

// welcomeClaude writes the first .claude.json into the configuration folder that the host owns, if there is none.
// Without one the interactive screen wants to greet and to log in, asks api.anthropic.com before anything else and
// ends when that does not answer, as in a network where only the model proxy does; a session that gets its
// credential on a descriptor has no use for either. Whether to trust the folder stays the person's to say.
//
// Earlier sessions could write in there: the name is taken exclusively, which follows no link and replaces nothing.
func welcomeClaude(config string) error {
	f, err := os.OpenFile(filepath.Join(config, ".claude.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(welcomed)
	return errors.Join(err, f.Close())
}
