package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"hostshim/host/wire"
	"hostshim/shim"
)

// Template says how a kind of session is started and what its sandbox reaches. The tags are all that the parser, `host
// status` and the table in docs/sandbox.md know of a key. Paths are absolute or start with "~", as written.
type Template struct {
	ID             string            `key:"id" want:"template id" means:"letters, digits, ., _ and -, at most 64. A built-in template's id replaces that template, whole"`
	Name           string            `key:"name" means:"for people"`
	Command        string            `key:"command" means:"what runs if no TARGET is given; without it your shell"`
	Args           []string          `key:"args" means:"its arguments"`
	Env            map[string]string `key:"env" means:"variables for TARGET, over the host's own environment"`
	EnvPassthrough []string          `key:"env_passthrough" means:"names that TARGET keeps although they look like credentials"`
	Sandbox        *bool             `key:"sandbox" means:"false: host run and host start run TARGET unconfined"`                  // nil: sandboxed
	Protect        *bool             `key:"protect" means:"false: what your own tools run unasked is neither compared nor closed"` // nil: it is
	Read           []string          `key:"read" means:"what TARGET may read and run: absolute paths, ~ or ~/…"`
	ReadWrite      []string          `key:"read_write" means:"what it may also change"`
	Deny           []string          `key:"deny" means:"what it may neither read nor change, whatever is granted"`
	Network        string            `key:"network" words:"open model none" means:"open, model: only the model proxy, or none; the last two with hosts beside"` // "" is open
	Hosts          []string          `key:"hosts" want:"host" means:"hosts that a closed network reaches too: example.com, *.example.com, example.com:8443, an address; port 443 unless said"`
	Credential     string            `key:"credential" words:"auto token pairing none" means:"what descriptor 5 carries. auto: the token for claude-code, else nothing. An id with capitals needs a client to have a pairing"` // "" is auto
	Client         string            `key:"client" want:"client id" means:"the client id of its pairing, which llm_proxy may have an upstream, a token_file and limits for; without it the template's id"`
	Services       []string          `key:"services" want:"service id" means:"ids of llm_proxy.services, such as a git host, that TARGET may use, with a credential that stays outside"`
	ModelKey       bool              `key:"model_key" means:"true: ${MODEL_KEY} in env is the key that a launch request brings"`
	IdleMinutes    int               `key:"idleTimeout" range:"0-5256000" means:"minutes without input and output after which host serve ends a session. 0: never"`
	Description    any               `key:"description" means:"relay's, ignored"`
	Icon           any               `key:"icon" means:"relay's, ignored"`
	Persist        any               `key:"persist" means:"relay's, ignored"`

	// Agent is the program that the template is made for: it gets a configuration folder that the host owns. Only
	// built-in templates say so. One from the settings can set CLAUDE_CONFIG_DIR, or grant ~/.claude, by itself (X05).
	Agent *Agent
	// Fills is what Expand left for a launch with a pairing to fill in.
	Fills []Fill
	// ReadIfThere are read entries that may be missing: a built-in template cannot know what this machine has.
	ReadIfThere []string
}

// Key is one key of a template, with what it means or what a template says there.
type Key struct{ Name, Text string }

// TemplateKeys are all keys that a template may have.
func TemplateKeys() (all []Key) {
	t := reflect.TypeFor[Template]()
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("key"); key != "" {
			all = append(all, Key{key, t.Field(i).Tag.Get("means")})
		}
	}
	return all
}

// Shown is what a template says, for people. Of variables it has the names alone: a value may be a secret.
func (t Template) Shown() []Key { return shown(reflect.ValueOf(t)) }

// shown is what a struct of keys says, in their order.
func shown(v reflect.Value) (all []Key) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Tag.Get("key")
		if name == "" || f.IsZero() || name == "id" {
			continue
		}
		text := fmt.Sprint(reflect.Indirect(f))
		switch f.Kind() {
		case reflect.Slice:
			text = strings.Join(f.Interface().([]string), ", ")
		case reflect.Map:
			var names []string
			for _, name := range f.MapKeys() {
				names = append(names, name.String())
			}
			slices.Sort(names)
			text = strings.Join(names, ", ")
		}
		all = append(all, Key{name, text})
	}
	return all
}

// ClientID is the client id of the pairings that the template's launches get.
func (t Template) ClientID() string { return cmp.Or(t.Client, t.ID) }

// Sandboxed says whether the template's launches are sandboxed.
func (t Template) Sandboxed() bool { return t.Sandbox == nil || *t.Sandbox }

// Protected says whether the template's launches protect what the user's own tools run (X17).
func (t Template) Protected() bool { return t.Protect == nil || *t.Protect }

// templates reads the list. One that is wrong is left out with a warning, and refuses the launches that name it. That
// includes a built-in template's id: the built-in one may grant other things.
func (r *reader) templates(v wire.Value, path string, s *Settings) error {
	if v.Kind() != "a list" {
		return r.wrongKind(v, path, "a list")
	}
	seen := map[string]bool{}
	for i, element := range v.Elements() {
		at := fmt.Sprintf("%s[%d]", path, i)
		id := idOf(element)
		t, err := r.template(element, at)
		if err == nil && seen[id] {
			err = r.errorf(element.At, at+".id", "another template has the same, so both are wrong")
		}
		seen[id] = true
		if err == nil {
			s.Templates = append(s.Templates, t)
			continue
		}
		r.warnings = append(r.warnings, err.Error()+"; the template is left out")
		s.Templates = slices.DeleteFunc(s.Templates, Template{ID: id}.sameID)
		if s.leftOut == nil {
			s.leftOut = map[string]error{}
		}
		s.leftOut[id] = err
	}
	return nil
}

// idOf is the id of a template that may be wrong otherwise; "" if it has none. No launch can name that one.
func idOf(v wire.Value) (id string) {
	for _, m := range v.Members() {
		if m.Name == "id" && json.Unmarshal(m.Raw, &id) == nil && !validTemplateID(id) {
			id = ""
		}
	}
	return id
}

func (r *reader) template(v wire.Value, path string) (t Template, err error) {
	to := reflect.ValueOf(&t).Elem()
	if err := r.object(v, path, to, r.strict(to.Type())); err != nil {
		return t, err
	}
	if t.ID == "" {
		return t, r.errorf(v.At, path+".id", "missing")
	}
	if err := t.checkMarks(); err != nil {
		return t, r.errorf(v.At, path, "%v", err)
	}
	if err := t.checkNetwork(); err != nil {
		return t, r.errorf(v.At, path, "%v", err)
	}
	if t.Credential == wire.CredentialAuto {
		t.Credential = ""
	}
	return t, nil
}

// checkNetwork refuses what says two things about the network (N01).
func (t Template) checkNetwork() error {
	switch {
	case len(t.Hosts) > 0 && (t.Network == "" || t.Network == shim.NetworkOpen):
		return errors.New(`hosts need "network": "model" or "none": an open network reaches every host`)
	case t.Network == shim.NetworkNone && t.Credential == wire.CredentialPairing:
		return errors.New(`a pairing is for the model, which "network": "none" does not reach: use "model", or another credential`)
	}
	return nil
}

// builtin are there without settings (X05).
func builtin() []Template {
	// A folder of its own: what a brokered session leaves in one, hooks and caches too, must not run in the next session
	// that holds the real token.
	brokered := Claude
	brokered.Folder = "claude-brokered"
	reads := readsIfThere()
	claude := []Template{
		{ID: "claude-code", Name: "Claude Code", Command: Claude.Command, Agent: &Claude, ReadIfThere: reads},
		// No real credential, and no network but the model's (B03, X09).
		{ID: "claude-brokered", Name: "Claude Code, brokered", Command: Claude.Command, Agent: &brokered, ReadIfThere: reads,
			Network: shim.NetworkModel, Credential: wire.CredentialPairing},
	}
	shell := Template{ID: "shell", Name: "Shell", Command: loginShell(), Credential: wire.CredentialNone, ReadIfThere: reads}
	return slices.Concat(claude, brokeredAgents(reads), []Template{shell})
}

// AgentFolders are the folders, below the host's data folder, that the built-in templates keep for the agent whose
// configuration folder that variable names.
func AgentFolders(configVar string) (all []string) {
	for _, t := range builtin() {
		if t.Agent != nil && t.Agent.ConfigVar == configVar {
			all = append(all, t.Agent.Folder)
		}
	}
	return all
}

// gitConfig are the user's own files of git, which stops at one that is there and cannot be read. Its credentials
// lie beside them, and stay shut.
func gitConfig() []string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = "~/.config"
	}
	return []string{"~/.gitconfig", dir + "/git/config", dir + "/git/ignore", dir + "/git/attributes"}
}

// loginShell is the user's shell, where the environment names one by its place.
func loginShell() string {
	if shell := os.Getenv("SHELL"); filepath.IsAbs(shell) {
		return shell
	}
	return "/bin/sh"
}

// All are the templates in force. One of the settings stands in for a built-in one of the same id, whole.
func (s *Settings) All() []Template {
	known := builtin()
	all := append(make([]Template, 0, len(s.Templates)+len(known)), s.Templates...)
	for _, builtin := range known {
		if !slices.ContainsFunc(all, builtin.sameID) && s.leftOut[builtin.ID] == nil {
			all = append(all, builtin)
		}
	}
	return all
}

// BuiltIn says whether a template's id is that of a built-in one, which no template of the settings replaces.
func (s *Settings) BuiltIn(id string) bool {
	t := Template{ID: id}
	return slices.ContainsFunc(builtin(), t.sameID) && !slices.ContainsFunc(s.Templates, t.sameID)
}

// Template finds a template.
func (s *Settings) Template(id string) (Template, error) {
	if err := s.leftOut[id]; err != nil && id != "" {
		return Template{}, fmt.Errorf("template %q is wrong: %w", id, err)
	}
	all := s.All()
	if at := slices.IndexFunc(all, Template{ID: id}.sameID); at >= 0 {
		return all[at], nil
	}
	var known []string
	for _, t := range all {
		known = append(known, t.ID)
	}
	slices.Sort(known)
	return Template{}, &UnknownTemplate{id, known}
}

// UnknownTemplate is an id that no template has.
type UnknownTemplate struct {
	id    string
	known []string
}

func (e *UnknownTemplate) Error() string {
	near := ""
	if id := Near(e.id, e.known); id != "" {
		near = fmt.Sprintf(": the nearest is %q", id)
	}
	return fmt.Sprintf("unknown template %q, known are: %s%s", e.id, strings.Join(e.known, ", "), near)
}

func (t Template) sameID(other Template) bool { return t.ID == other.ID }
