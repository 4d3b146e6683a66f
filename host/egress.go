package host

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/reach"
	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// What the launch agenda knows of a session's network, and of the hosts that a closed one reaches by name (N).

// decideNetwork says which network the session gets, and which hosts it reaches.
func (p *Plan) decideNetwork(t settings.Template) (err error) {
	more := p.request.AllowHosts
	if p.Sandboxed && t.Network != "" {
		p.network = t.Network
	}
	if p.network == shim.NetworkOpen {
		if len(more) > 0 {
			return invalid(`--allow-host adds to a closed network, and the session's is open: choose a template with "network": "model" or "none"`)
		}
		return nil
	}
	p.hosts, err = reach.ParseAll(t.Hosts)
	if err == nil && len(more) > 0 {
		var added reach.Hosts
		added, err = reach.ParseAll(more)
		p.hosts = append(p.hosts, added...)
	}
	if err != nil {
		return invalid("host %v", err)
	}
	return nil
}

// fitNetwork is what a launch hands over where the network is closed. Give is what it would with an open one; byName: it
// was asked for.
func (p *Plan) fitNetwork(t settings.Template, give string, byName bool) (string, error) {
	useless := give == wire.CredentialToken
	if p.network == shim.NetworkNone {
		useless = give == wire.CredentialPairing || useless && len(p.hosts) == 0
		byName = byName || p.request.Credential == wire.CredentialPairing
	}
	switch {
	case p.network == shim.NetworkOpen || !useless:
		return give, nil
	case byName || t.Credential == give:
		cure := "ask for a pairing"
		if p.network == shim.NetworkNone {
			cure = "it reaches no model"
		}
		return "", invalid(`template %q has "network": %q, where a %s is of no use: %s`, t.ID, p.network, give, cure)
	case p.network == shim.NetworkNone:
		return wire.CredentialNone, nil
	}
	return wire.CredentialPairing, nil // the proxy takes nothing else
}

// ownNetwork says whether the session gets a network namespace (X09).
func (p *Plan) ownNetwork() bool {
	return OwnNetworks && p.network != shim.NetworkOpen && p.Sandboxed
}

// listens says whether the session reaches the host's proxy, for the model, for hosts by name or for services.
func (p *Plan) listens() bool {
	return p.network == shim.NetworkModel || len(p.hosts) > 0 || len(p.services) > 0
}

// proxied is the environment that children start from, with what leads programs to the session's way out (N02). The
// host's own proxy is not the session's: it is out of its reach. Port is that of the shared listener, where that is used.
func (p *Plan) proxied(base []string, port int) []string {
	if p.network != shim.NetworkNone && len(p.hosts) == 0 {
		return base
	}
	env := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return proxyVariable(name) || strings.EqualFold(name, "NO_PROXY")
	})
	if len(p.hosts) == 0 {
		return env
	}
	address := net.JoinHostPort(shim.ModelAddr, strconv.Itoa(port))
	if p.ownNetwork() {
		return append(env, proxyEnv("http://"+address, port, lookup(env, jvmOptions))...)
	}
	return append(env, proxyEnv("http://session:"+passwordMark+"@"+address, port, lookup(env, jvmOptions))...)
}

const (
	jvmOptions   = "JAVA_TOOL_OPTIONS"
	passwordMark = "${PROXY_PASSWORD}" // in a proxy's address, until the pairing is made
)

func proxyVariable(name string) bool {
	return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}, strings.ToUpper(name))
}

// proxyEnv makes tools use the proxy at address, a URL, without further configuration: curl and wget read the lower-case
// names, others either; node wants to be told to look; a JVM has properties of its own, which come after those it had.
func proxyEnv(address string, port int, jvm string) []string {
	const past = "localhost,127.0.0.1,::1"
	env := []string{"NO_PROXY=" + past, "no_proxy=" + past, "NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+address, strings.ToLower(name)+"="+address)
	}
	for _, scheme := range []string{"http", "https"} {
		jvm += fmt.Sprintf(" -D%s.proxyHost=%s -D%s.proxyPort=%d", scheme, shim.ModelAddr, scheme, port)
	}
	return append(env, jvmOptions+"="+strings.TrimPrefix(jvm+" -Dhttp.nonProxyHosts=localhost|127.*|[::1]", " "))
}

// withPassword puts the pairing into the proxy's address, where the environment leaves room for it: on a listener that
// sessions share it tells them apart.
func withPassword(env []string, pairing credential.Secret) []string {
	env = slices.Clone(env)
	for i, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); proxyVariable(name) && strings.Contains(value, passwordMark) {
			env[i] = name + "=" + strings.ReplaceAll(value, passwordMark, string(pairing.Reveal()))
		}
	}
	return env
}

// proxyPort is where the session finds the host's proxy, if it may reach that.
func (h *Host) proxyPort(p *Plan) (port int, err error) {
	if OwnNetworks || p.profileNetwork() != shim.NetworkModel || p.request.preview {
		return shim.ModelPort, nil
	}
	_, port, err = h.config.Broker.listening()
	return port, err
}

// profileNetwork is the network as the profile has it: closed with a listener, or without.
func (p *Plan) profileNetwork() string {
	if p.network == shim.NetworkNone && p.listens() {
		return shim.NetworkModel
	}
	return p.network
}
