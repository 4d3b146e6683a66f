package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"hostshim/host/credential"
	"hostshim/host/reach"
	"hostshim/host/wire"
	"hostshim/shim"
)

// maxSettings is the size of the settings file that is still read, in bytes (H12).
const maxSettings = 1 << 20

// Settings is what the pair understands of settings.json, which it never writes (T01). Paths are as written:
// they are expanded at each launch.
type Settings struct {
	ClaudeTokenFile string     `key:"claude_token_file"` // "": no launch gets a token
	Templates       []Template `key:"terminal_templates"`
	LLMProxy        *Proxy     `key:"llm_proxy"` // nil: no model proxy

	modelEndpoint string           // model_endpoint.listen, which is relay's
	leftOut       map[string]error // by id, the templates that are wrong
}

// Proxy configures the model proxy.
type Proxy struct {
	Listen                string             `key:"listen" want:"loopback"`
	Upstream              string             `key:"upstream" want:"upstream"`
	AllowedClientIDs      []string           `key:"allowed_client_ids" want:"client id"` // nil: all; empty: none (P05)
	SubscriptionClientIDs []string           `key:"subscription_client_ids" want:"client id"`
	IdleTimeoutSeconds    int                `key:"idle_timeout_seconds" range:"1-86400"`
	Clients               map[string]Client  `key:"clients" want:"client id"`
	Services              map[string]Service `key:"services" want:"service id"`
}

// What the model proxy does where the settings say nothing.
const (
	DefaultListen      = "127.0.0.1:0"
	DefaultUpstream    = "https://api.anthropic.com"
	defaultIdleSeconds = 1800
)

// Effective are the settings of the model proxy, with the usual ones where there are none.
func (s *Settings) Effective() Proxy {
	if s.LLMProxy != nil {
		return *s.LLMProxy
	}
	return newProxy()
}

func newProxy() Proxy {
	return Proxy{Listen: DefaultListen, Upstream: DefaultUpstream, IdleTimeoutSeconds: defaultIdleSeconds}
}

// Load reads the settings file (H12). A file that nobody named may be absent: then nothing is set.
// Errors and warnings name file, line, column and key, never a value.
func Load(path string, named bool) (s *Settings, warnings []string, err error) {
	data, err := readFile(nil, path, named)
	switch {
	case err != nil:
		return nil, nil, err
	case data == nil:
		return &Settings{}, nil, nil
	}
	return parse(path, data)
}

// readFile returns nil for a file that may be absent, and is.
func readFile(files *credential.Reader, path string, named bool) ([]byte, error) {
	file, err := files.ReadFile(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings %s: %w", path, err)
	}
	return file.Data, nil
}

// Memory keeps the last settings that were read, for the model proxy, which asks at every request. Parsing takes 40 µs
// and more; reading the file and checking who can write it takes less. The file is therefore read each time and its
// bytes are compared. Size and times would not do: equal ones do not prove equal content.
type Memory struct {
	files  credential.Reader
	mu     sync.Mutex
	data   []byte
	parsed *Settings // nil: nothing yet
}

// Load returns the settings as the file has them now. They are shared: the caller must not change them.
func (m *Memory) Load(path string, named bool) (*Settings, error) {
	file, err := readFile(&m.files, path, named)
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
	r, s := &reader{file: file, data: data}, &Settings{}
	v, err := r.document()
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() == "null" {
		return s, nil, nil
	}
	if v.Kind() != "an object" {
		return nil, nil, r.wrongKind(v, "", "an object")
	}
	for _, m := range v.Members() {
		if err := r.topLevel(m, s); err != nil {
			return nil, nil, err
		}
	}
	return s, r.warnings, nil
}

// slip is the key of ours that a top-level name most likely stands for; "": it is relay's. Two letters may differ, or a
// word in front may be missing, as in "templates".
func slip(name, nearest string, letters int) string {
	if letters <= 2 {
		return nearest
	}
	plain := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for _, key := range keys(reflect.TypeFor[Settings]()) {
		if len(plain) >= 8 && strings.HasSuffix(key, "_"+plain) {
			return key
		}
	}
	return ""
}

// topLevel reads one member of the document. Those that are not known here are relay's; one that is nearly ours is a
// mistake.
func (r *reader) topLevel(m wire.Member, s *Settings) error {
	path := wire.MemberPath("", m.Name)
	if m.Name == "model_endpoint" {
		for _, inner := range m.Members() {
			if inner.Name == "listen" {
				json.Unmarshal(inner.Raw, &s.modelEndpoint)
			}
		}
		return nil
	}
	if nearest, letters := Nearest(m.Name, keys(reflect.TypeFor[Settings]())); nearest != m.Name {
		if nearest = slip(m.Name, nearest, letters); nearest == "" {
			return nil
		}
		return r.errorf(m.At, path, "unknown, the nearest known key is %q", nearest)
	}
	if m.Kind() == "null" {
		return nil
	}
	switch m.Name {
	case "terminal_templates":
		return r.templates(m.Value, path, s)
	case "llm_proxy":
		proxy := newProxy()
		s.LLMProxy = &proxy
		return r.value(m.Value, path, reflect.ValueOf(s.LLMProxy).Elem(), "")
	}
	return r.value(m.Value, path, reflect.ValueOf(&s.ClaudeTokenFile).Elem(), "")
}

// validClientID: [a-z0-9][a-z0-9._-]{0,63} (P05).
func validClientID(id string) bool { return validTemplateID(id) && strings.ToLower(id) == id }

// validTemplateID: [A-Za-z0-9][A-Za-z0-9._-]{0,63}, the shape of a session id at half the length.
func validTemplateID(id string) bool { return len(id) <= 64 && shim.ValidSessionID(id) }

func validHost(entry string) bool {
	_, err := reach.ParsePattern(entry)
	return err == nil
}

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
