package host

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// envSpec is what a child's environment is made of, in the order in which one wins over the other.
type envSpec struct {
	Base        []string          // the host's own environment
	Template    map[string]string // the template's env
	Request     map[string]string // the request's env, or --env
	Own         []string          // NAME=VALUE: what the host itself says
	Passthrough []string          // names kept although they look like credentials
	ByHand      bool              // a person named the variables: one that is dropped is named
	Guarded     bool              // the base loses what looks like a credential (E04)
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

// buildEnv makes a child's environment (E01, E02, E03, E04, T10). Each name stands once, where it was first set,
// with the value that was set last. Neither an error nor a warning ever carries a value.
func buildEnv(s envSpec) (env []string, warnings []string, err error) {
	e := environ{value: make(map[string]string)}
	var usual []string
	for _, kv := range s.Base {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "" || hostOnly(name):
		case s.Guarded && s.usual(name) && !s.replaced(name):
			usual = append(usual, name)
		default:
			e.set(name, value)
		}
	}
	for _, layer := range []map[string]string{s.Template, s.Request} {
		if err := e.add(layer, s.ModelKey); err != nil {
			return nil, nil, err
		}
	}
	replaced, more := e.dropCredentials(s)
	warnings = append(replaced, droppedLine(append(usual, more...))...)
	warnings = append(warnings, s.inVain()...)
	for _, kv := range s.Own {
		name, value, _ := strings.Cut(kv, "=")
		if err := checkVariable(name, value); err != nil {
			return nil, nil, err
		}
		e.set(name, value)
	}
	return e.list(), warnings, nil
}

// replaced says whether what the launch hands over stands in the variable's place (E03).
func (s envSpec) replaced(name string) bool {
	return (s.Credential == wire.CredentialToken || s.Credential == wire.CredentialPairing) && slices.Contains(shim.AnthropicCredentials, name)
}

// own says whether the template itself sets the variable, and to no key that the request brings. Such a value is no
// credential that came along by accident.
func (s envSpec) own(name string) bool {
	value, ok := s.Template[name]
	_, other := s.Request[name]
	return ok && !other && !strings.Contains(value, settings.ModelKeyMark)
}

// pairing says whether the template sets the variable to the launch's pairing, which is what the launch hands over.
func (s envSpec) pairing(name string) bool {
	return s.Credential == wire.CredentialPairing && s.own(name) && strings.Contains(s.Template[name], settings.PairingMark)
}

// usual says whether the variable looks like a credential, and nobody asked to keep it.
func (s envSpec) usual(name string) bool {
	return UsualCredential(name) && !slices.Contains(s.Passthrough, name)
}

// inVain names what a person asked for and no session gets (E01, E02).
func (s envSpec) inVain() []string {
	var names []string
	for name := range s.Request {
		if strings.HasPrefix(name, relayPrefix) {
			names = append(names, name)
		}
	}
	for _, kv := range s.Base {
		if name, _, _ := strings.Cut(kv, "="); hostOnly(name) && slices.Contains(s.Passthrough, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || !s.ByHand {
		return nil
	}
	slices.Sort(names)
	return []string{"environment variables dropped, which no session is given: " + strings.Join(slices.Compact(names), ", ")}
}

// hostOnly says whether a variable of the host's environment stays with the host (E01).
func hostOnly(name string) bool {
	return strings.HasPrefix(name, parentPrefix) || slices.Contains(relayCredentials, name) || slices.Contains(parentSession, name)
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

// pastProxies sets the host's own variables, which lead a target to the model proxy, and keeps an HTTP proxy of the environment
// from being used for it. That proxy could not reach this loopback, and must not see the pairing. Both spellings of the
// exception are set, since a program may look at the first that it finds.
func pastProxies(env, own []string) []string {
	value, proxied := map[string]string{}, false
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		value[name] = v
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy":
			proxied = proxied || v != ""
		}
	}
	if proxied {
		for _, names := range [][2]string{{"NO_PROXY", "no_proxy"}, {"no_proxy", "NO_PROXY"}} {
			past := cmp.Or(value[names[0]], value[names[1]])
			if !slices.Contains(strings.Split(past, ","), shim.ModelAddr) {
				past = strings.TrimPrefix(past+","+shim.ModelAddr, ",")
			}
			own = append(own, names[0]+"="+past)
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

// dropCredentials takes out what the launch goes without, before the host's own are set, which are no credentials from
// elsewhere: what it replaces, with a warning each, and beside a pairing what looks like a credential.
func (e *environ) dropCredentials(s envSpec) (warnings, usual []string) {
	for _, name := range slices.Clone(e.names) {
		switch {
		case s.pairing(name):
			continue
		case s.replaced(name):
			warnings = append(warnings, fmt.Sprintf("environment variable %q dropped: the session gets a %s instead", name, s.Credential))
		case s.Credential == wire.CredentialPairing && s.usual(name) && !s.own(name):
			usual = append(usual, name)
		default:
			continue
		}
		e.drop(name)
	}
	return warnings, usual
}

// droppedLine names what looked like a credential, each once; nil for nothing.
func droppedLine(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("environment variables dropped, as they look like credentials: %s; to keep one: "+
		`--keep-env NAME, or "env_passthrough" in the template`, strings.Join(slices.Compact(names), ", "))}
}

// add sets a template's or a request's variables. One that wants a model key, where the request brings none, is left out.
func (e *environ) add(layer map[string]string, key credential.Secret) error {
	for _, name := range slices.Sorted(maps.Keys(layer)) {
		value := layer[name]
		if strings.Contains(value, settings.ModelKeyMark) {
			if key.Empty() {
				continue
			}
			value = string(bytes.ReplaceAll([]byte(value), []byte(settings.ModelKeyMark), key.Reveal()))
		}
		if err := checkVariable(name, value); err != nil {
			return err
		}
		if !strings.HasPrefix(name, relayPrefix) {
			e.set(name, value)
		}
	}
	return nil
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
