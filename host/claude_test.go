package host

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hostshim/host/wire"
)

const convo = "6f1c0a52-9d3b-4a57-8f10-2c7be1a90d11"

func TestR02Arguments(t *testing.T) {
	const always = "--print --output-format stream-json --input-format stream-json --verbose "
	for _, test := range []struct {
		name   string
		c      Claude
		resume bool
		want   string
	}{
		{"fresh", Claude{Model: "sonnet"}, false, "--model sonnet --session-id " + convo},
		{"resumed", Claude{Model: "sonnet"}, true, "--model sonnet --resume " + convo},
		{"resumed, stored without a model", Claude{Model: " "}, true, "--resume " + convo},
		{"prompt", Claude{Model: "m", SystemPrompt: "be kind"}, false, "--model m --session-id " + convo + " --append-system-prompt-file /t/f"},
		{"plan", Claude{Model: "m", Mode: "plan"}, false, "--model m --session-id " + convo + " --permission-mode plan"},
		{"default", Claude{Model: "m", Mode: "default"}, false, "--model m --session-id " + convo},
		{"bypass", Claude{Model: "m", Mode: "bypassPermissions"}, false,
			"--model m --session-id " + convo + " --permission-mode bypassPermissions --dangerously-skip-permissions"},
		{"headless lifts nothing", Claude{Model: "m", Mode: "plan", Headless: true}, false, "--model m --session-id " + convo + " --permission-mode plan"},
		{"tools", Claude{Model: "m", Allowed: []string{"Read", "Grep"}, Denied: []string{"Bash", "Edit"}}, false,
			"--model m --session-id " + convo + " --allowedTools Read,Grep --disallowedTools Bash,Edit"},
		{"read only", Claude{Model: "m", ReadOnly: true}, false, "--model m --session-id " + convo + " --tools Read,Grep,Glob --strict-mcp-config"},
		{"all", Claude{Model: "m", SystemPrompt: "p", Mode: "acceptEdits", Allowed: []string{"Read"}, Denied: []string{"Bash(rm *)"}}, true,
			"--model m --resume " + convo + " --append-system-prompt-file /t/f --permission-mode acceptEdits --allowedTools Read --disallowedTools Bash(rm *)"},
	} {
		file := ""
		if test.c.SystemPrompt != "" {
			file = "/t/f"
		}
		if got := strings.Join(test.c.args(convo, test.resume, file), " "); got != always+test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, always+test.want)
		}
	}
}

func TestR02Refused(t *testing.T) {
	for _, test := range []struct {
		r    Request
		want string // "": accepted
	}{
		{Request{}, ""},
		{Request{Claude: &Claude{}}, "session_request.model is missing"},
		{Request{Claude: &Claude{Model: " \t"}}, "session_request.model is missing"},
		{Request{Claude: &Claude{}, Resume: true}, ""},
		{Request{Claude: &Claude{Model: "--print"}}, `session_request.model "--print" is no model's name`},
		{Request{Claude: &Claude{Model: "a\x00b"}}, `session_request.model "a\x00b" is no model's name`},
		{Request{Claude: &Claude{Model: "us.anthropic.claude-x-4:0[1m]"}}, ""},
		{Request{Claude: &Claude{Model: "m", Mode: "strict"}}, `session_request: unknown permission mode "strict", known are: default, plan, acceptEdits, bypassPermissions, auto, manual, dontAsk`},
		{Request{Claude: &Claude{Model: "m", ReadOnly: true}}, "session_request.settings.readOnlyProjects needs a profile that denies writing: sandbox.profile_path"},
		{Request{Claude: &Claude{Model: "m", ReadOnly: true}, ProfilePath: "/p"}, ""},
		{Request{Claude: &Claude{Model: "m", Denied: []string{"Bash(git *, x)", "mcp__a__b", "Bash(a (b))"}}}, ""},
		{Request{Claude: &Claude{Model: "m", Denied: []string{"Bash", ""}}}, `session_request.settings.permissionPolicy: "" is empty`},
		{Request{Claude: &Claude{Model: "m", Denied: []string{"Bash(x"}}}, `session_request.settings.permissionPolicy: "Bash(x" lacks a parenthesis`},
		{Request{Claude: &Claude{Model: "m", Denied: []string{"Bash)("}}}, `session_request.settings.permissionPolicy: "Bash)(" lacks a parenthesis`},
		{Request{Claude: &Claude{Model: "m", Denied: []string{"Bash(a(b), c)"}}}, `session_request.settings.permissionPolicy: "Bash(a(b), c)" holds a comma or a blank outside parentheses`},
		{Request{Claude: &Claude{Model: "m", Allowed: []string{"Read Bash"}}}, `session_request.settings.permissionPolicy: "Read Bash" holds a comma or a blank outside parentheses`},
		{Request{Claude: &Claude{Model: "m", Allowed: []string{"--verbose"}}}, `session_request.settings.permissionPolicy: "--verbose" starts as a flag does`},
		{Request{Claude: &Claude{Model: "m", Allowed: []string{"Ba\nsh"}}}, `session_request.settings.permissionPolicy: "Ba\nsh" holds a character that no rule has`},
	} {
		err := test.r.checkClaude()
		var refusal *wire.Error
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", test.r.Claude, err)
		case test.want != "" && (!errors.As(err, &refusal) || refusal.Code != wire.InvalidSpec || refusal.Message != test.want):
			t.Errorf("%+v: %v, want %s", test.r.Claude, err, test.want)
		}
	}
}

// splitTools splits a list as Claude Code does.
func splitTools(list string) (rules []string) {
	inside, at := false, 0
	for i, c := range list {
		switch {
		case c == '(':
			inside = true
		case c == ')':
			inside = false
		case !inside && (c == ',' || c == ' '):
			rules, at = append(rules, list[at:i]), i+1
		}
	}
	return append(rules, list[at:])
}

// What is denied arrives as it was denied, whatever stands beside it.
func FuzzR02Rules(f *testing.F) {
	f.Add("Bash", "Edit(a,b)", "Read")
	f.Add("Bash(x", "Edit", "Bash)")
	f.Add("Bash(a(b),c)", "--x", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		r := &Request{Claude: &Claude{Model: "m", Denied: []string{a, b, c}}}
		if r.checkClaude() != nil {
			return
		}
		args := r.Claude.args(convo, false, "")
		at := slices.Index(args, "--disallowedTools")
		if got := splitTools(args[at+1]); !slices.Equal(got, r.Claude.Denied) {
			t.Errorf("%q arrives as %q", r.Claude.Denied, got)
		}
	})
}
