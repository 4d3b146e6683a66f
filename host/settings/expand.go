package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Marks in a template's texts, as relay has them (R01). Any other ${…} stays as it is.
const (
	ModelKeyMark    = "${MODEL_KEY}"   // replaced when the environment is made: its value is a secret
	PairingMark     = "${PAIRING}"     // so is this one's; both are replaced when the pairing is made
	BaseURLMark     = "${BASE_URL}"    // of the model proxy
	ServiceURLMark  = "${SERVICE_URL}" // of its services: an id follows (A04)
	projectPathMark = "${PROJECT_PATH}"
	projectIDMark   = "${PROJECT_ID}"
	endpointMark    = "${MODEL_ENDPOINT_URL}"
	relayTokenMark  = "${RELAY_TOKEN}"
)

// checkMarks refuses what no launch can fill in, or what must not reach a session.
func (t Template) checkMarks() error {
	arguments := append([]string{t.Command}, t.Args...)
	values := slices.Collect(maps.Values(t.Env))
	says := func(mark string, texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, mark) })
	}
	switch {
	case says(relayTokenMark, slices.Concat(arguments, values)...):
		return errors.New(relayTokenMark + " is not given to sessions")
	case says(ModelKeyMark, arguments...), says(endpointMark, arguments...):
		return fmt.Errorf("%s and %s stand in env only: every user can see arguments", ModelKeyMark, endpointMark)
	case says(PairingMark, arguments...):
		return errors.New(PairingMark + " stands in env only, as every user can see arguments: let the program read it from a variable")
	case says(BaseURLMark, t.Command):
		return errors.New(BaseURLMark + " stands in env and args only")
	case says(ServiceURLMark, t.Command):
		return errors.New(ServiceURLMark + " stands in env and args only")
	case says(ModelKeyMark, values...) && !t.ModelKey:
		return errors.New(ModelKeyMark + ` needs "model_key": true`)
	}
	for _, name := range t.EnvPassthrough {
		if strings.HasPrefix(name, "RELAY_") {
			return fmt.Errorf("env_passthrough: %.64q: no name that starts with RELAY_ is given to sessions", name)
		}
	}
	return nil
}

// Fill is a mark that is filled in when the launch's pairing is made, and the variable in whose value it stands; "": it
// stands in the arguments.
type Fill struct{ Mark, Name string }

func (f Fill) String() string {
	if f.Name == "" {
		return f.Mark + " in args"
	}
	return fmt.Sprintf("%s in env %.64q", f.Mark, f.Name)
}

// fills finds the marks before anything is filled in: what a project's name holds is none.
func (t Template) fills() (all []Fill) {
	for _, mark := range []string{PairingMark, BaseURLMark, ServiceURLMark} {
		if slices.ContainsFunc(t.Args, func(arg string) bool { return strings.Contains(arg, mark) }) {
			all = append(all, Fill{mark, ""})
		}
		for _, name := range slices.Sorted(maps.Keys(t.Env)) {
			if strings.Contains(t.Env[name], mark) {
				all = append(all, Fill{mark, name})
			}
		}
	}
	return all
}

// Expand fills in what a launch knows: its project, the settings' model endpoint, the user's shell where the template
// names no command. The template itself stays as it is.
func (s *Settings) Expand(t Template, projectPath, projectID string) (Template, error) {
	if t.Command == "" {
		t.Command = loginShell()
	}
	t.Fills = t.fills()
	project := strings.NewReplacer(projectPathMark, projectPath, projectIDMark, projectID)
	t.Command = project.Replace(t.Command)
	t.Args = slices.Clone(t.Args)
	for i := range t.Args {
		t.Args[i] = project.Replace(t.Args[i])
	}
	t.Env = maps.Clone(t.Env)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		value := t.Env[name]
		if strings.Contains(value, endpointMark) && s.modelEndpoint == "" {
			return t, fmt.Errorf("template %q uses %s in env %.64q, but model_endpoint.listen is not set in settings.json", t.ID, endpointMark, name)
		}
		// One pass: what a project's name holds is not expanded again.
		t.Env[name] = strings.NewReplacer(projectPathMark, projectPath, projectIDMark, projectID, endpointMark, "http://"+s.modelEndpoint).Replace(value)
	}
	return t, nil
}
