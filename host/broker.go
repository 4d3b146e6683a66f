package host

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostshim/host/credential"
	"hostshim/host/llmproxy"
	"hostshim/shim"
)

// Models is the model proxy of a host (P), made when the first launch, or the settings, ask for it.
type Models struct {
	Proxy *llmproxy.Proxy
	base  string // base URL of the shared listener; "": it is not open
	close func()
}

// NewModels makes the model proxy. The credential, the policy and the upstream are read anew whenever they are
// needed (T05); nothing listens yet.
func (h *Host) NewModels(log *slog.Logger, device credential.Secret) *Models {
	proxy := llmproxy.New(llmproxy.Config{
		Provider:      h.provider,
		Policy:        h.policy,
		DevicePairing: device,
		Log:           log,
		Audit:         h.auditPairing,
	})
	return &Models{Proxy: proxy, close: func() { proxy.Close() }}
}

// Listen opens the shared listener, on a free loopback port where the settings name none.
func (m *Models) Listen(address string) error {
	l, err := net.Listen("tcp", cmp.Or(address, defaultListen))
	if err != nil {
		return fmt.Errorf("llm_proxy.listen %q: %w", address, err)
	}
	if err := m.Proxy.Start(l); err != nil {
		return fmt.Errorf("llm_proxy.listen %q: %w", address, err)
	}
	m.base = m.Proxy.BaseURL()
	return nil
}

// Close ends the proxy: every pairing is worthless from then on.
func (m *Models) Close() { m.close() }

// proxySettings are the settings of the proxy as they are now; the usual ones if there are none.
func (h *Host) proxySettings() (*Settings, *ProxySettings, error) {
	s, err := h.settings.load(h.Places.Settings, h.Places.Named)
	if err != nil {
		return nil, nil, err
	}
	p := s.LLMProxy
	if p == nil {
		p = &ProxySettings{Listen: defaultListen, Upstream: defaultUpstream, IdleTimeoutSeconds: defaultIdleSeconds}
	}
	return s, p, nil
}

// provider is where a client's next request goes, with which credential (P09); "" is the device route's client.
func (h *Host) provider(clientID string) (llmproxy.Provider, error) {
	p, _, err := h.warnedProvider(clientID)
	return p, err
}

// warnedProvider also returns what a launch warns of (T06).
func (h *Host) warnedProvider(clientID string) (to llmproxy.Provider, warnings []string, err error) {
	s, p, err := h.proxySettings()
	if err != nil {
		return to, nil, err
	}
	if to.Upstream, err = url.Parse(p.Upstream); err != nil {
		return to, nil, err
	}
	to.Credential, warnings, err = modelCredential(s, p, clientID)
	return to, warnings, err
}

// policy is who may have a pairing.
func (h *Host) policy() (llmproxy.Policy, error) {
	_, p, err := h.proxySettings()
	if err != nil {
		return llmproxy.Policy{}, err
	}
	return llmproxy.Policy{Allowed: p.AllowedClientIDs, Subscription: p.SubscriptionClientIDs,
		Idle: time.Duration(p.IdleTimeoutSeconds) * time.Second}, nil
}

// modelCredential reads the credential that a client's requests get.
func modelCredential(s *Settings, p *ProxySettings, clientID string) (credential.Secret, []string, error) {
	key, value := "claude_token_file", s.ClaudeTokenFile
	if own := p.Clients[clientID].TokenFile; own != "" {
		key, value = "llm_proxy.clients."+clientID+".token_file", own
	}
	if value == "" {
		return credential.Secret{}, nil, errors.New("claude_token_file is not set: name the token's file in settings.json")
	}
	path, err := credential.Expand(key, value)
	if err != nil {
		return credential.Secret{}, nil, err
	}
	return credential.Read(key, path)
}

// tokenFiles are the files that hold a credential: every profile denies them all.
func (s *Settings) tokenFiles() (paths []string, err error) {
	add := func(key, value string) {
		if value != "" && err == nil {
			var path string
			path, err = credential.Expand(key, value)
			paths = append(paths, path)
		}
	}
	add("claude_token_file", s.ClaudeTokenFile)
	if s.LLMProxy != nil {
		for id, c := range s.LLMProxy.Clients {
			add("llm_proxy.clients."+id+".token_file", c.TokenFile)
		}
	}
	return paths, err
}

func (h *Host) auditPairing(e llmproxy.Event) {
	row := Row{Event: e.Name, Outcome: "ok", PairingID: e.Pairing.ID, TemplateID: e.Pairing.ClientID,
		Credential: CredentialPairing}
	if e.Reason != "revoked" {
		row.Error = e.Reason
	}
	if e.Err != nil {
		row.Outcome, row.Error = "denied", e.Err.Error()
	}
	if err := h.audit(row); err != nil {
		h.Warn(err.Error())
	}
}

// models is the host's proxy: that of `host serve`, or one for this launch alone (B02).
func (h *Host) models() (*Models, error) {
	h.modelsOnce.Lock()
	defer h.modelsOnce.Unlock()
	if h.Models == nil {
		log, err := os.OpenFile(h.Places.requestLog(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		m := h.NewModels(slog.New(slog.NewJSONHandler(log, nil)), credential.Secret{})
		m.close = func() { m.Proxy.Close(); log.Close() }
		h.Models = m
	}
	return h.Models, nil
}

// listening is the base URL of the shared listener, which is opened if it is not yet.
func (h *Host) listening() (string, error) {
	m, err := h.models()
	if err != nil {
		return "", err
	}
	h.modelsOnce.Lock()
	defer h.modelsOnce.Unlock()
	if m.base == "" {
		if err := m.Listen(defaultListen); err != nil {
			return "", err
		}
	}
	return m.base, nil
}

// mintPairing makes the pairing that a brokered launch gets in place of the token (B01). It dies with the launch.
func (h *Host) mintPairing(r *running) error {
	m, err := h.models()
	if err != nil {
		return err
	}
	own := ""
	if r.ownNetwork() {
		own = "http://" + net.JoinHostPort(shim.ModelAddr, strconv.Itoa(shim.ModelPort)) + "/sandbox"
	}
	base := own
	if own == "" {
		if base, err = h.listening(); err != nil {
			return err
		}
	}
	session, pairing, err := m.Proxy.CreateForLaunch(r.TemplateID, own)
	if err != nil {
		return err
	}
	r.undo = append(r.undo, func() { m.Proxy.Revoke(session.ID) })
	r.token, r.pairingID = pairing, session.ID
	r.env = brokeredEnv(r.env, base)
	return nil
}

// brokeredEnv leads a target to the model proxy: by its base URL, and past the HTTP proxy that the environment may
// name. That one could not reach a loopback that is not its own, and ought not to see the pairing. Both spellings of
// the exception are set, since a program may look at the first that it finds.
func brokeredEnv(env []string, base string) []string {
	value, proxied := map[string]string{}, false
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		value[name] = v
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy":
			proxied = proxied || v != ""
		}
	}
	own := []string{"ANTHROPIC_BASE_URL=" + base}
	if proxied {
		for name, other := range map[string]string{"NO_PROXY": "no_proxy", "no_proxy": "NO_PROXY"} {
			own = append(own, name+"="+strings.TrimPrefix(cmp.Or(value[name], value[other])+","+shim.ModelAddr, ","))
		}
		slices.Sort(own)
	}
	return append(slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}), own...)
}

// ownNetwork says whether the session gets a network namespace, with a listener made inside (X09).
func (p *plan) ownNetwork() bool { return hasOwnNetwork && p.network == shim.NetworkModel && p.Sandbox }

// serveOwnNetwork takes the listener that the shim's second stage made inside the session's network before it
// became the target, and serves the session's pairing on it, and nothing else (B04). Without a pairing nothing
// there answers.
func (r *running) serveOwnNetwork() error {
	if r.listener == nil {
		return nil
	}
	defer r.listener.Close()
	l, err := receiveListener(r.listener)
	if err != nil {
		return &Refusal{SpawnFailed, err.Error()}
	}
	if r.pairingID == "" {
		return l.Close()
	}
	m, err := r.host.models()
	if err != nil {
		l.Close()
		return &Refusal{SpawnFailed, err.Error()}
	}
	r.undo = append(r.undo, func() { l.Close() })
	go m.Proxy.ServeSession(l, r.pairingID)
	return nil
}
