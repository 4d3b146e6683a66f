package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hostshim/host/client"
)

const sessionMore = `
  host session create --client-id ID [--idle-timeout D] [--json|--env]
  host session list [--json]
  host session revoke ID

A pairing lets one program use the running host's model proxy, on its /sandbox route. It is shown this once; D is a
duration such as 90s or 2h, a day at most. With --env the output is what a shell in a sandbox evaluates before it
starts Claude Code.

example: eval "$(host session create --client-id my-sandbox --env)"
`

// llmProxy takes relay's name for session (R04).
func llmProxy(args []string) int {
	switch {
	case len(args) == 0:
		return usageError("no llm-proxy command", called()+" session --help shows its usage")
	case args[0] == "session":
		return session(args[1:])
	case strings.HasPrefix(args[0], "-"):
		return session(args)
	}
	return usageError(fmt.Sprintf("unknown llm-proxy command %q%s", args[0], nearest(args[0], []string{"session"})), called()+" session --help shows its usage")
}

// sessionFlags are those of all session commands.
type sessionFlags struct {
	*flags
	verb          string
	clientID      string
	idle          time.Duration
	asJSON, asEnv bool
}

// session makes, lists and revokes pairings (P13).
func session(args []string) int {
	f := &sessionFlags{flags: newFlags("session")}
	f.more = sessionMore
	f.StringVar(&f.clientID, "client-id", "", "`ID` create: the program that the pairing is for")
	f.DurationVar(&f.idle, "idle-timeout", 0, "`D` create: how long the pairing may go unused (default: the settings')")
	f.BoolVar(&f.asJSON, "json", false, "create: print JSON; list: print one JSON object a line")
	f.BoolVar(&f.asEnv, "env", false, "create: print shell lines for the sandbox")
	f.bearerFlag()
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		f.verb, args = args[0], args[1:]
	}
	want, known := map[string]int{"create": 0, "list": 0, "revoke": 1}[f.verb]
	if !known {
		want = -1
	}
	if code, ok := f.parse(args, want); !ok {
		return code
	}
	if text, cure := f.misused(known); text != "" {
		return usageError(text, cure)
	}
	c, err := f.client()
	if err != nil {
		return fail(err)
	}
	switch f.verb {
	case "create":
		return createPairing(c, f.clientID, f.idle, f.asJSON, f.asEnv)
	case "list":
		return listPairings(c, f.asJSON)
	}
	if err := c.RevokePairing(f.Arg(0)); err != nil {
		return failPairing(err)
	}
	return 0
}

// misused says what is wrong with the words of a session command, and the cure; "": nothing. The complexity: one case a
// mistake.
func (f *sessionFlags) misused(known bool) (text, cure string) {
	cure = called() + " session --help shows its usage"
	switch {
	case f.verb == "":
		return "no session command", cure
	case !known:
		return fmt.Sprintf("unknown session command %q%s", f.verb, nearest(f.verb, []string{"create", "list", "revoke"})), cure
	case f.verb == "create" && f.clientID == "":
		return "session create needs --client-id", cure
	case f.verb != "create" && (f.asEnv || f.clientID != "" || f.given("idle-timeout")):
		return "--client-id, --idle-timeout and --env belong to session create", cure
	case f.asJSON && f.asEnv:
		return "--json and --env exclude each other", cure
	case f.given("idle-timeout") && (f.idle < time.Second || f.idle%time.Second != 0):
		return fmt.Sprintf("--idle-timeout %v: want whole seconds, at least one", f.idle), cure
	case f.verb == "revoke" && !pairingID(f.Arg(0)):
		return fmt.Sprintf("%q is no pairing's id: want 16 lower-case hex characters", f.Arg(0)), called() + " session list shows them"
	}
	return "", ""
}

func pairingID(s string) bool { return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == "" }

// failPairing explains what a host that knows no pairings answers.
func failPairing(err error) int {
	code := fail(err)
	if errors.Is(err, client.ErrNoPairings) {
		hint("the running host is older than this program: start it anew")
	}
	return code
}

func createPairing(c *client.Client, clientID string, idle time.Duration, asJSON, asEnv bool) int {
	p, err := c.CreatePairing(clientID, idle)
	if err != nil {
		return failPairing(err)
	}
	switch {
	case asJSON:
		return printJSON(shownPairing(p))
	case asEnv:
		// The pairing stands for an OAuth token; what Claude Code would take instead of it goes.
		fmt.Printf("export ANTHROPIC_BASE_URL=%s\nexport CLAUDE_CODE_OAUTH_TOKEN=%s\n", shellQuote(p.BaseURL), shellQuote(p.Pairing))
		// Past an HTTP proxy, which would see the pairing and could not reach this machine's loopback.
		fmt.Println(`export NO_PROXY="${NO_PROXY-${no_proxy-}},127.0.0.1" no_proxy="${no_proxy-${NO_PROXY-}},127.0.0.1"`)
		fmt.Println("unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR")
	default:
		fmt.Printf("Session: %s\nPairing: %s\nBase URL: %s\nIdle timeout: %v\n", p.ID, p.Pairing, p.BaseURL, time.Duration(p.Idle)*time.Second)
	}
	return 0
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func listPairings(c *client.Client, asJSON bool) int {
	pairings, err := c.Pairings()
	if err != nil {
		return failPairing(err)
	}
	out, done := buffered()
	t, now := newTable(out, column{title: "SESSION"}, column{title: "CLIENT", least: 8}, column{title: "IDLE TIMEOUT"}, column{title: "AGE"}), time.Now()
	for _, p := range pairings {
		if asJSON {
			err = printLine(out, shownPairing(p))
		} else {
			err = t.add(p.ID, p.ClientID, strconv.FormatInt(p.Idle, 10)+"s", age(p.CreatedAt, now))
		}
		if err != nil {
			return done(err)
		}
	}
	return done(t.end(!asJSON))
}

// shownPairing is a pairing as --json prints it: spelled as everything else. The API has relay's spelling (P01).
type shownPairing struct {
	ID        string `json:"id"`
	Pairing   string `json:"pairing,omitempty"`
	ClientID  string `json:"client_id"`
	BaseURL   string `json:"base_url"`
	Idle      int64  `json:"idle_timeout_seconds"`
	CreatedAt string `json:"created_at"`
}
