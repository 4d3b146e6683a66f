package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hostshim/host/credential"
	"hostshim/host/wire"
	"hostshim/shim"
)

// maxSettings is the size of the settings file that is still read, in bytes (H12).
const maxSettings = 1 << 20

// Settings is what the pair understands of settings.json, which it never writes (T01). Paths are as written:
// they are expanded at each launch.
type Settings struct {
	ClaudeTokenFile string // "": no launch gets a token
	Templates       []Template
	LLMProxy        *Proxy // nil: no model proxy
}

// Proxy configures the model proxy.
type Proxy struct {
	Listen                string   // loopback address with port
	Upstream              string   // base URL, without user, query and fragment
	AllowedClientIDs      []string // nil: all; empty: none (P05)
	SubscriptionClientIDs []string
	IdleTimeoutSeconds    int
	Clients               map[string]Client // by client id
}

// Client is what one client id has of its own.
type Client struct {
	TokenFile string // "": claude_token_file (P09)
}

// What the model proxy does where the settings say nothing.
const (
	DefaultListen      = "127.0.0.1:0"
	defaultUpstream    = "https://api.anthropic.com"
	defaultIdleSeconds = 1800
	maxIdleSeconds     = 86400
)

// Effective are the settings of the model proxy, with the usual ones where there are none.
func (s *Settings) Effective() Proxy {
	if s.LLMProxy != nil {
		return *s.LLMProxy
	}
	return newProxy()
}

func newProxy() Proxy {
	return Proxy{Listen: DefaultListen, Upstream: defaultUpstream, IdleTimeoutSeconds: defaultIdleSeconds}
}

// ErrNoTokenFile says that no credential is configured.
var ErrNoTokenFile = errors.New("claude_token_file is not set: name the token's file in settings.json")

// TokenFile is the file with the credential that a client's requests get (P09), and the key that names it. The client
// "" is Claude Code itself, which has no key of its own.
func (s *Settings) TokenFile(clientID string) (key, path string, err error) {
	key, value := "claude_token_file", s.ClaudeTokenFile
	if s.LLMProxy != nil {
		if own := s.LLMProxy.Clients[clientID].TokenFile; own != "" {
			key, value = "llm_proxy.clients."+clientID+".token_file", own
		}
	}
	if value == "" {
		return key, "", ErrNoTokenFile
	}
	path, err = credential.Expand(key, value)
	return key, path, err
}

// TokenFiles are all files that hold a credential. Every profile denies them.
func (s *Settings) TokenFiles() (paths []string, err error) {
	clients := []string{""}
	if s.LLMProxy != nil {
		clients = append(clients, slices.Sorted(maps.Keys(s.LLMProxy.Clients))...)
	}
	for _, id := range clients {
		_, path, err := s.TokenFile(id)
		if errors.Is(err, ErrNoTokenFile) {
			continue
		} else if err != nil {
			return nil, err
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Load reads the settings file (H12). A file that nobody named may be absent: then nothing is set.
// Errors and warnings name file, line, column and key, never a value.
func Load(path string, named bool) (s *Settings, warnings []string, err error) {
	data, err := readFile(path, named)
	switch {
	case err != nil:
		return nil, nil, err
	case data == nil:
		return &Settings{}, nil, nil
	}
	return parse(path, data)
}

// readFile returns nil for a file that may be absent, and is.
func readFile(path string, named bool) ([]byte, error) {
	file, err := credential.ReadFile(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings %s: %w", path, err)
	}
	return file.Data, nil
}

// Memory keeps the last settings that were read, for the model proxy, which asks at every request. Parsing takes 40 µs
// and more; reading the file and checking who can write it takes 10 µs. The file is therefore read each time and its
// bytes are compared. Size and times would not do: equal ones do not prove equal content.
type Memory struct {
	mu     sync.Mutex
	data   []byte
	parsed *Settings // nil: nothing yet
}

// Load returns the settings as the file has them now. They are shared: the caller must not change them.
func (m *Memory) Load(path string, named bool) (*Settings, error) {
	file, err := readFile(path, named)
	if err != nil || file == nil {
		return &Settings{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parsed != nil && bytes.Equal(m.data, file) {
		return m.parsed, nil
	}
	parsed, _, err := parse(path, file)
	if err != nil {
		return nil, err
	}
	m.data, m.parsed = file, parsed
	return parsed, nil
}

// parse reads settings from data; file is for messages only.
func parse(file string, data []byte) (*Settings, []string, error) {
	var s Settings
	r := newJSONReader(file, data)
	err := r.document(r.object(fields{
		"claude_token_file":  r.text(&s.ClaudeTokenFile),
		"terminal_templates": r.list(func(path string) error { return readTemplate(r, path, &s.Templates) }),
		"llm_proxy":          func(path string) error { return readProxy(r, path, &s.LLMProxy) },
	}))
	if err != nil {
		return nil, nil, err
	}
	return &s, r.warnings, nil
}

func readTemplate(r *jsonReader, path string, all *[]Template) error {
	var t Template
	at := r.next()
	err := r.object(fields{
		"id":              r.checked(&t.ID, validTemplateID, "want 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', a letter or digit first"),
		"name":            r.text(&t.Name),
		"command":         r.text(&t.Command),
		"args":            r.texts(&t.Args),
		"env":             r.textMap(&t.Env),
		"env_passthrough": r.texts(&t.EnvPassthrough),
		"sandbox":         r.flag(&t.Sandbox),
		"read":            r.texts(&t.Read),
		"read_write":      r.texts(&t.ReadWrite),
		"deny":            r.texts(&t.Deny),
		"network":         r.word(&t.Network, shim.NetworkOpen, shim.NetworkModel),
		"credential":      r.word(&t.Credential, wire.CredentialAuto, wire.CredentialToken, wire.CredentialPairing, wire.CredentialNone),
	})(path)
	if err != nil {
		return err
	}
	if t.ID == "" {
		return r.errorf(at, path+".id", "missing")
	}
	if slices.ContainsFunc(*all, func(other Template) bool { return other.ID == t.ID }) {
		return r.errorf(at, path+".id", "an earlier template has the same")
	}
	if t.Credential == wire.CredentialAuto {
		t.Credential = ""
	}
	*all = append(*all, t)
	return nil
}

func readProxy(r *jsonReader, path string, to **Proxy) error {
	defaults := newProxy()
	p := &defaults
	*to = p
	const badClientID = "want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first"
	return r.object(fields{
		"listen":                  r.checked(&p.Listen, loopbackAddress, "want a loopback address with port, as 127.0.0.1:0"),
		"upstream":                r.checked(&p.Upstream, upstreamURL, "want an https URL, or http to a loopback host, without user, query and fragment"),
		"allowed_client_ids":      r.checkedTexts(&p.AllowedClientIDs, validClientID, badClientID),
		"subscription_client_ids": r.checkedTexts(&p.SubscriptionClientIDs, validClientID, badClientID),
		"idle_timeout_seconds":    r.number(&p.IdleTimeoutSeconds, 1, maxIdleSeconds),
		"clients": r.members(func(at int, id, path string) error {
			if !validClientID(id) {
				return r.errorf(at, path, badClientID)
			}
			var c Client
			if err := r.object(fields{"token_file": r.text(&c.TokenFile)})(path); err != nil {
				return err
			}
			if p.Clients == nil {
				p.Clients = make(map[string]Client)
			}
			p.Clients[id] = c
			return nil
		}),
	})(path)
}

// validClientID: [a-z0-9][a-z0-9._-]{0,63} (P05).
func validClientID(id string) bool { return validTemplateID(id) && strings.ToLower(id) == id }

// validTemplateID: [A-Za-z0-9][A-Za-z0-9._-]{0,63}, the shape of a session id at half the length.
func validTemplateID(id string) bool { return len(id) <= 64 && shim.ValidSessionID(id) }

// loopbackAddress accepts host:port on this machine only. The port is digits alone, 0 for any free one.
func loopbackAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	return err == nil && loopbackHost(host) && validPort(port)
}

// loopbackHost accepts 127.0.0.0/8, ::1 and localhost; no other spelling of them, since what checks a
// request's Host header later knows no other.
func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

func upstreamURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(text, "?#") {
		return false
	}
	if port := u.Port(); strings.HasSuffix(u.Host, ":") || port != "" && (port == "0" || !validPort(port)) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopbackHost(u.Hostname())
}
