package host

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/wire"
	"hostshim/shim"
)

// envSpec is what a child's environment is made of, in the order in which one wins over the other.
type envSpec struct {
	Base        []string          // the host's own environment
	Template    map[string]string // the template's env
	Request     map[string]string // the request's env, or --env
	Own         []string          // NAME=VALUE: what the host itself says
	Passthrough []string          // the template's env_passthrough
	ModelKey    credential.Secret // replaces ${MODEL_KEY} in the template's and the request's values
	Credential  string            // wire.CredentialNone, wire.CredentialToken or wire.CredentialPairing; "" is none
}

// relayCredentials are relay's own, which no child sees (E01).
var relayCredentials = []string{
	"RELAY_SERVICE_TOKEN",
	"RELAY_MCP_TOKEN",
	"RELAY_FRONTEND_TOKEN",
	shim.EnvLaunchFD,
	"RELAY_PROJECT_TOKEN",
	"RELAY_TOKEN",
	"RELAY_LLM_TOKEN",
	"RELAY_LLM_HOOK_TOKEN",
}

// parentSession are variables of a Claude Code session that the host itself may run in, besides those that
// start with parentPrefix (E01).
var parentSession = []string{"CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT"}

const (
	parentPrefix = "CLAUDE_CODE_"
	relayPrefix  = "RELAY_"
)

// usualSuffixes and usualPrefix are how credentials are usually named (E03).
var usualSuffixes = []string{"_API_KEY", "_TOKEN", "_SECRET", "_SECRET_ACCESS_KEY", "_PASSWORD", "_CREDENTIALS"}

const usualPrefix = "AWS_"

// modelKeyMark is what the request's model key replaces.
const modelKeyMark = "${MODEL_KEY}"

// buildEnv makes a child's environment (E01, E02, E03, T10). Each name stands once, where it was first set,
// with the value that was set last. Neither an error nor a warning ever carries a value.
func buildEnv(s envSpec) (env []string, warnings []string, err error) {
	e := environ{value: make(map[string]string)}
	for _, kv := range s.Base {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && !hostOnly(name) {
			e.set(name, value)
		}
	}
	for _, layer := range []map[string]string{s.Template, s.Request} {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			value := withModelKey(layer[name], s.ModelKey)
			if err := checkVariable(name, value); err != nil {
				return nil, nil, err
			}
			if !strings.HasPrefix(name, relayPrefix) {
				e.set(name, value)
			}
		}
	}
	// Before the host's own, which are no credentials from elsewhere.
	for _, name := range slices.Clone(e.names) {
		if dropped(name, s.Credential, s.Passthrough) {
			e.drop(name)
			warnings = append(warnings, fmt.Sprintf("environment variable %q dropped: the session gets a %s instead", name, s.Credential))
		}
	}
	for _, kv := range s.Own {
		name, value, _ := strings.Cut(kv, "=")
		if err := checkVariable(name, value); err != nil {
			return nil, nil, err
		}
		e.set(name, value)
	}
	return e.list(), warnings, nil
}

// hostOnly says whether a variable of the host's environment stays with the host (E01).
func hostOnly(name string) bool {
	return strings.HasPrefix(name, parentPrefix) || slices.Contains(relayCredentials, name) || slices.Contains(parentSession, name)
}

// dropped says whether a launch with the given credential goes without the variable (E03). Letter case is not
// looked at in the usual names: programs read such variables in either.
func dropped(name, kind string, passthrough []string) bool {
	switch kind {
	case wire.CredentialToken:
		return slices.Contains(shim.AnthropicCredentials, name)
	case wire.CredentialPairing:
		return slices.Contains(shim.AnthropicCredentials, name) || usualCredential(name) && !slices.Contains(passthrough, name)
	}
	return false
}

func usualCredential(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, usualPrefix) ||
		slices.ContainsFunc(usualSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// withModelKey puts the model key where the mark stands; without a key there is nothing to put there.
func withModelKey(value string, key credential.Secret) string {
	if !strings.Contains(value, modelKeyMark) {
		return value
	}
	return string(bytes.ReplaceAll([]byte(value), []byte(modelKeyMark), key.Reveal()))
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

// brokeredEnv leads a target to the model proxy: the variable names its base URL, and an HTTP proxy of the environment is
// not used for it. That proxy could not reach this loopback, and must not see the pairing. Both spellings of the exception
// are set, since a program may look at the first that it finds.
func brokeredEnv(env []string, variable, base string) []string {
	value, proxied := map[string]string{}, false
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		value[name] = v
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy":
			proxied = proxied || v != ""
		}
	}
	own := []string{variable + "=" + base}
	if proxied {
		for _, names := range [][2]string{{"NO_PROXY", "no_proxy"}, {"no_proxy", "NO_PROXY"}} {
			own = append(own, names[0]+"="+strings.TrimPrefix(cmp.Or(value[names[0]], value[names[1]])+","+shim.ModelAddr, ","))
		}
	}
	return append(slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}), own...)
}

// checkVariable refuses what no environment can hold (E02).
func checkVariable(name, value string) error {
	switch {
	case name == "":
		return fmt.Errorf("environment variable %q: the name is empty", name)
	case strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("environment variable %q: the name holds '=' or a NUL byte", name)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("environment variable %q: the value holds a NUL byte", name)
	}
	return nil
}

// environ is an environment in the making.
type environ struct {
	names []string
	value map[string]string
}

func (e *environ) set(name, value string) {
	if _, ok := e.value[name]; !ok {
		e.names = append(e.names, name)
	}
	e.value[name] = value
}

func (e *environ) drop(name string) {
	delete(e.value, name)
	e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == name })
}

func (e *environ) list() []string {
	list := make([]string, 0, len(e.names))
	for _, name := range e.names {
		list = append(list, name+"="+e.value[name])
	}
	return list
}
