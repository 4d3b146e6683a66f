package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"hostshim/host/credential"
)

// Client is what one client id of the model proxy has of its own (A01).
type Client struct {
	TokenFile string   `key:"token_file"`               // "": claude_token_file (P09)
	Upstream  string   `key:"upstream" want:"upstream"` // "": that of llm_proxy
	Auth      string   `key:"auth" want:"auth"`         // "": by the credential (P08)
	Paths     []string `key:"paths" want:"path"`        // nil: all
	Methods   []string `key:"methods" words:"DELETE GET HEAD PATCH POST PUT"`
	PerMinute int      `key:"requests_per_minute" range:"1-1000000"` // of one session; 0: no limit
	Requests  int      `key:"requests" range:"1-1000000000"`         // of one session in all; 0: no limit
}

// check refuses what would send Claude's token to somebody else's server.
func (c *Client) check() error {
	if c.Upstream != "" && c.TokenFile == "" {
		return errors.New("an upstream of its own needs a token_file of its own: claude_token_file goes to llm_proxy.upstream alone")
	}
	return nil
}

// Access is where requests go, and with which credential: a client's own settings, and the usual ones where it has none.
type Access struct {
	Client
	Key  string // of the token file
	Path string // of the token file, expanded
}

// ErrNoTokenFile says that no credential is configured.
var ErrNoTokenFile = errors.New("claude_token_file is not set: run host init, or name the token's file in settings.json")

// Own says whether the token file is the client's own, or the service's.
func (a Access) Own() bool { return a.Key != claudeKey }

const claudeKey = "claude_token_file"

// Access is what a client's requests get. The client "" is Claude Code itself, which has no settings of its own. With an
// error all but the token file is right.
func (s *Settings) Access(clientID string) (a Access, err error) {
	proxy := s.Effective()
	a.Client = proxy.Clients[clientID]
	usual, known := s.usual(clientID, a.TokenFile != "")
	a.Upstream = cmp.Or(a.Upstream, usual.Upstream, proxy.Upstream)
	a.Auth = cmp.Or(a.Auth, usual.Auth)
	a.Key = "llm_proxy.clients." + clientID + ".token_file"
	switch {
	case a.TokenFile != "":
	case known: // Claude's token is not for another provider
		return a, fmt.Errorf("%s is not set: name the file with the key for %s in settings.json", a.Key, a.Upstream)
	default:
		a.Key, a.TokenFile = claudeKey, s.ClaudeTokenFile
	}
	if a.TokenFile == "" {
		return a, ErrNoTokenFile
	}
	a.Path, err = credential.Expand(a.Key, a.TokenFile)
	return a, err
}

// usual is what a built-in template's client has where the settings say nothing. A key of the client's own is for its
// provider, whoever starts the agent: a template of the settings with that client id changes nothing about it.
func (s *Settings) usual(clientID string, ownKey bool) (Client, bool) {
	agent := agentOf(clientID)
	if agent == nil || agent.Client.Upstream == "" || !ownKey && s.AgentOf(clientID) == nil {
		return Client{}, false
	}
	return agent.Client, true
}

// AgentOf is the agent that uses a client id by a built-in template; nil: there is none, or a template of the settings has
// the id.
func (s *Settings) AgentOf(clientID string) *Agent {
	if slices.ContainsFunc(s.Templates, func(t Template) bool { return t.ClientID() == clientID }) {
		return nil
	}
	return agentOf(clientID)
}

// agents are the built-in templates' by client id, also where a template of the id was left out: its key must not change
// provider. They are made once: each request of the proxy asks.
var agents = sync.OnceValue(func() map[string]*Agent {
	of := map[string]*Agent{}
	for _, t := range builtin() {
		of[t.ClientID()] = t.Agent
	}
	return of
})

func agentOf(clientID string) *Agent {
	if clientID == "" { // the token's: most launches ask for no other, and need no table
		return nil
	}
	return agents()[clientID]
}

// Clients are the ids of the clients that have settings of their own.
func (s *Settings) Clients() []string {
	return slices.Sorted(maps.Keys(s.Effective().Clients))
}

// OwnKeys are the ids of the clients that have a token file of their own.
func (s *Settings) OwnKeys() []string {
	clients := s.Effective().Clients
	return slices.DeleteFunc(s.Clients(), func(id string) bool { return clients[id].TokenFile == "" })
}

// Shown is what a client's requests get, for people.
func (a Access) Shown() []Key { return shown(reflect.ValueOf(a.Client)) }

// Accesses are all that have a token file: Claude Code itself first, then the clients by id, then the
// services. A path that leads nowhere is an error, which concerns only the launches that would use it (T02).
func (s *Settings) Accesses() (all []Access, err error) {
	take := func(a Access, wrong error) {
		switch {
		case wrong == nil && !slices.ContainsFunc(all, func(other Access) bool { return other.Key == a.Key }):
			all = append(all, a)
		case wrong != nil && wrong != ErrNoTokenFile && (err == nil || err.Error() != wrong.Error()):
			err = errors.Join(err, wrong)
		}
	}
	for _, id := range append([]string{""}, s.Clients()...) {
		take(s.Access(id))
	}
	for _, id := range s.Services() {
		take(s.ServiceAccess(id))
	}
	return all, err
}

// TokenFiles are all files that hold a credential. Every profile denies them. A path that leads nowhere denies nothing.
func (s *Settings) TokenFiles() (paths []string) {
	all, _ := s.Accesses()
	for _, a := range all {
		if !slices.Contains(paths, a.Path) {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// requestPath accepts a path as a request has it once it is decoded; a * at its end stands for any rest. What the proxy
// never lets through, or would compare with something else, matches nothing and is a mistake.
func requestPath(text string) bool {
	path := strings.TrimSuffix(text, "*")
	return strings.HasPrefix(path, "/") && len(path) <= 1024 && !strings.ContainsAny(path, `*%?#\;`) &&
		!strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == 0x7f }) &&
		!strings.Contains(path, "//") && !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}
