package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/reach"
	"hostshim/host/sandbox"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Preview is a launch that is only shown (U03): planned as any, and nothing made for it. It holds no value of a variable and
// no argument, which may be secrets.
type Preview struct {
	TemplateID string           `json:"template_id"`
	Program    string           `json:"program"` // its path, or its name where it is not there
	Found      bool             `json:"found"`
	Directory  string           `json:"directory"`
	Sandbox    bool             `json:"sandbox"`
	Credential string           `json:"credential"`
	Network    string           `json:"network"`
	Hosts      []string         `json:"hosts"`    // that a closed network reaches too
	Services   []string         `json:"services"` // that it may use
	Grants     []sandbox.Grant  `json:"grants"`
	Closed     []sandbox.Closed `json:"denied"`
	Protected  []string         `json:"protected"`   // granted, and yet not to be written
	Names      []string         `json:"environment"` // variables

	profile  *sandbox.Profile
	hosts    reach.Hosts
	services []service
}

// Preview plans a launch, with the error that it would be refused with. It writes nothing and no audit row.
func (h *Host) Preview(r *Request, io Stdio) (*Preview, error) {
	r.preview = true
	p, err := h.plan(r, io)
	if err != nil {
		var coded *wire.Error
		if !errors.As(err, &coded) {
			err = &wire.Error{Code: wire.SpawnFailed, Message: err.Error()}
		}
		return nil, err
	}
	p.token.Wipe()
	env := p.env
	if p.paired() {
		env = p.brokeredEnv(slices.Clone(env), "", credential.Secret{})
	}
	v := &Preview{TemplateID: p.TemplateID, Directory: r.Directory, Sandbox: p.Sandboxed, Credential: p.Credential, Network: p.network,
		Grants: []sandbox.Grant{}, Closed: []sandbox.Closed{}, Protected: []string{}, Names: []string{}, Hosts: []string{}, Services: p.serviceIDs(),
		profile: p.profile, hosts: p.hosts, services: p.services}
	for _, pattern := range p.hosts {
		v.Hosts = append(v.Hosts, entryText(pattern))
	}
	program := FindProgram(p.argv[0], lookup(p.env, "PATH"), r.Directory)
	if v.Found = executable(program); v.Found {
		v.Program = program
	} else {
		v.Program = p.argv[0]
	}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		v.Names = append(v.Names, name)
	}
	slices.Sort(v.Names)
	if p.profile == nil {
		return v, nil
	}
	v.Grants, v.Closed = p.profile.Grants(), p.profile.Closed
	if p.before != nil && p.ownNetwork() {
		v.Protected = append(v.Protected, p.before.Paths()...)
	}
	return v, nil
}

// Why says whether the session could read or write a path. It must be sandboxed, by a profile of the host's.
func (v *Preview) Why(path string, write bool) (sandbox.Answer, error) {
	return v.profile.Why(path, write)
}

// Answer says whether a session could use something, and what decides.
type Answer = sandbox.Answer

// WhyHost says whether the session could reach a host, written as name, name:port or address. Without a port it is that of
// TLS, which an entry without one means too.
func (v *Preview) WhyHost(text string) (sandbox.Answer, error) {
	h, err := reach.ParseHost(text, reach.TLSPort)
	if err != nil {
		return sandbox.Answer{}, err
	}
	a := sandbox.Answer{Path: h.Entry()}
	switch {
	case !v.Sandbox:
		a.Could, a.By = true, "sessions of the template are not sandboxed"
	case v.Network == shim.NetworkOpen:
		a.Could, a.By = true, "the network is open"
	default:
		for _, pattern := range v.hosts {
			if (reach.Hosts{pattern}).Allow(h) {
				a.Could, a.By = true, fmt.Sprintf("hosts of the template has %q", entryText(pattern))
				if h.Addr.IsLoopback() {
					a.By += "; NO_PROXY keeps tools on the session's own loopback, but with --env NO_PROXY= --env no_proxy="
				}
				return a, nil
			}
		}
		if s := v.serviceAt(h); s != nil {
			a.Could, a.By = true, s.way()
			return a, nil
		}
		a.By = "no entry of hosts covers it, and the network is closed"
		if _, err := reach.ParsePattern(h.Entry()); err != nil {
			a.By += "; no entry can: " + err.Error()
		} else {
			a.Key, a.Value = "hosts", h.Entry()
		}
	}
	return a, nil
}

// entryText is an entry of hosts as people write it.
func entryText(p reach.Pattern) string {
	if p.Below {
		return "*." + p.Entry()
	}
	return p.Entry()
}
