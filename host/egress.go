package host

import (
	"slices"
	"strings"

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

// listens says whether the session reaches the host's proxy, for the model or for hosts by name.
func (p *Plan) listens() bool { return p.network == shim.NetworkModel || len(p.hosts) > 0 }

// proxied is the environment that children start from, as it is right for the session's network (N02).
func (p *Plan) proxied(base []string) []string {
	if p.network != shim.NetworkNone {
		return base
	}
	return slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(proxyVariables, strings.ToUpper(name))
	})
}

// proxyVariables lead programs to an HTTP proxy, or past it. Both letter cases count.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// profileNetwork is the network as the profile has it: closed with a listener, or without.
func (p *Plan) profileNetwork() string {
	if p.network == shim.NetworkNone && p.listens() {
		return shim.NetworkModel
	}
	return p.network
}
