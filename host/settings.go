package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hostshim/host/credential"
	"hostshim/shim"
)

// maxSettings is the size of the settings file that is still read, in bytes (H12).
const maxSettings = 1 << 20

// Settings is what the pair understands of settings.json, which it never writes (T01). Paths are as written:
// they are expanded at each launch.
type Settings struct {
	ClaudeTokenFile string // "": no launch gets a token
	Templates       []Template
	LLMProxy        *ProxySettings // nil: no model proxy
}

// ProxySettings configures the model proxy.
type ProxySettings struct {
	Listen                string   // loopback address with port
	Upstream              string   // base URL, without user, query and fragment
	AllowedClientIDs      []string // nil: all; empty: none (P05)
	SubscriptionClientIDs []string
	IdleTimeoutSeconds    int
	Clients               map[string]ClientSettings // by client id
}

// ClientSettings is what one client id has of its own.
type ClientSettings struct {
	TokenFile string // "": claude_token_file (P09)
}

// What the model proxy does where the settings say nothing.
const (
	defaultListen      = "127.0.0.1:0"
	defaultUpstream    = "https://api.anthropic.com"
	defaultIdleSeconds = 1800
	maxIdleSeconds     = 86400
)

// LoadSettings reads the settings file (H12). A file that nobody named may be absent: then nothing is set.
// Errors and warnings name file, line, column and key, never a value.
func LoadSettings(path string, named bool) (s *Settings, warnings []string, err error) {
	data, err := readSettings(path, named)
	switch {
	case err != nil:
		return nil, nil, err
	case data == nil:
		return &Settings{}, nil, nil
	}
	return parseSettings(path, data)
}

// readSettings returns nil for a file that may be absent, and is.
func readSettings(path string, named bool) ([]byte, error) {
	file, err := credential.ReadFile(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings %s: %w", path, err)
	}
	return file.Data, nil
}

// settingsMemory remembers what the last content of the settings file meant, for whom asks again and again: reading
// the file and checking who can write it takes 10 µs, understanding it 40 and more. The file is read each time, and
// its bytes are compared: equal size and times do not prove equal content. What load returns is shared, and not to be
// changed.
type settingsMemory struct {
	mu     sync.Mutex
	data   []byte
	parsed *Settings // nil: nothing yet
}

func (m *settingsMemory) load(path string, named bool) (*Settings, error) {
	file, err := readSettings(path, named)
	if err != nil || file == nil {
		return &Settings{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parsed != nil && bytes.Equal(m.data, file) {
		return m.parsed, nil
	}
	parsed, _, err := parseSettings(path, file)
	if err != nil {
		return nil, err
	}
	m.data, m.parsed = file, parsed
	return parsed, nil
}

// parseSettings reads settings from data; file is for messages only.
func parseSettings(file string, data []byte) (*Settings, []string, error) {
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
		"credential":      r.word(&t.Credential, CredentialAuto, CredentialToken, CredentialPairing, CredentialNone),
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
	if t.Credential == CredentialAuto {
		t.Credential = ""
	}
	*all = append(*all, t)
	return nil
}

func readProxy(r *jsonReader, path string, to **ProxySettings) error {
	p := &ProxySettings{Listen: defaultListen, Upstream: defaultUpstream, IdleTimeoutSeconds: defaultIdleSeconds}
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
			var c ClientSettings
			if err := r.object(fields{"token_file": r.text(&c.TokenFile)})(path); err != nil {
				return err
			}
			if p.Clients == nil {
				p.Clients = make(map[string]ClientSettings)
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
