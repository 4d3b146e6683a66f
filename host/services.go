package host

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/reach"
	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// What the launch agenda knows of services: servers to which the proxy adds a credential, first of all git hosts (A04).

// service is one that the session may use.
type service struct {
	id     string
	access settings.Access
}

// planServices decides which services the session gets. One that cannot be used refuses the launch, like a token that cannot:
// nobody wants to learn at the first push.
func (h *Host) planServices(p *Plan, t settings.Template, set *settings.Settings) error {
	able := p.Sandboxed && !p.request.Remote
	switch {
	case !able && len(p.request.Services) > 0:
		return invalid("--service: only a sandboxed local session gets services")
	case !able && len(t.Services) > 0:
		h.config.Warn(fmt.Sprintf("template %q names services, which only a sandboxed local session gets: it goes without", t.ID))
		return nil
	}
	for _, id := range slices.Concat(t.Services, p.request.Services) {
		if slices.Contains(p.serviceIDs(), id) {
			continue
		}
		access, err := set.ServiceAccess(id)
		if access.Upstream == "" {
			return invalid("services: %v", err)
		}
		if err != nil {
			return unavailable(err)
		}
		token, warnings, err := credential.Read(access.Key, access.Path)
		token.Wipe()
		h.warnAll(warnings)
		if err != nil {
			return unavailable(err)
		}
		p.services = append(p.services, service{id, access})
	}
	return nil
}

func (p *Plan) serviceIDs() []string {
	ids := []string{}
	for _, s := range p.services {
		ids = append(ids, s.id)
	}
	return ids
}

// paired says whether the launch has a pairing, for the model, for the way out or for services.
func (p *Plan) paired() bool {
	return p.Credential == wire.CredentialPairing || len(p.hosts) > 0 || len(p.services) > 0
}

// basicForm is a pairing as git presents it.
func basicForm(pairing credential.Secret) credential.Secret {
	pair := slices.Concat([]byte("session:"), pairing.Reveal())
	defer clear(pair)
	return credential.NewSecret(base64.StdEncoding.AppendEncode(nil, pair))
}

// brokeredEnv leads the session's programs to the proxy, whose base URL for the model is base. Basic is the pairing for git.
func (p *Plan) brokeredEnv(env []string, base string, basic credential.Secret) []string {
	var own []string
	if p.Credential == wire.CredentialPairing {
		own = append(own, settings.Claude.BaseURL+"="+base)
	}
	if len(p.services) > 0 {
		own = append(own, p.gitEnv(env, serviceURL(base), basic)...)
	}
	if len(own) == 0 {
		return env
	}
	return pastProxies(env, own)
}

// serviceURL is the proxy's base URL for services; base is that for the model.
func serviceURL(base string) string { return strings.TrimSuffix(base, "/sandbox") + "/service" }

const gitConfigCount = "GIT_CONFIG_COUNT"

// gitEnv leads git to the services by its environment, behind what that already says.
func (p *Plan) gitEnv(env []string, base string, basic credential.Secret) []string {
	closed := p.network != shim.NetworkOpen
	header := "Authorization: Basic " + string(basic.Reveal())
	count, _ := gitCount(env)
	var own []string
	for _, s := range p.services {
		for _, entry := range s.access.GitConfig(base+"/"+s.id, header, closed) {
			own = append(own, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, entry[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, entry[1]))
			count++
		}
	}
	own = append(own, fmt.Sprintf("%s=%d", gitConfigCount, count))
	if closed && lookup(env, "GIT_TERMINAL_PROMPT") == "" {
		own = append(own, "GIT_TERMINAL_PROMPT=0") // there is nobody to ask about a refusal
	}
	return own
}

// gitCount is how many settings of git an environment holds by number.
func gitCount(env []string) (int, bool) {
	text := lookup(env, gitConfigCount)
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 10_000
}

// checkGitConfig refuses what nothing can be put behind.
func (p *Plan) checkGitConfig() error {
	if _, ok := gitCount(p.env); !ok && len(p.services) > 0 {
		return invalid("environment variable %q is no small number: git could not be led to the services", gitConfigCount)
	}
	return nil
}

// serviceAt is the service whose upstream is that host; nil: there is none.
func (v *Preview) serviceAt(h reach.Host) *service {
	for i, s := range v.services {
		u, err := url.Parse(s.access.Upstream)
		if err != nil {
			continue
		}
		usual := uint16(reach.TLSPort)
		if u.Scheme == "http" {
			usual = 80
		}
		if at, err := reach.ParseHost(u.Host, usual); err == nil && at == h {
			return &v.services[i]
		}
	}
	return nil
}

// way says how the session reaches the service.
func (s *service) way() string {
	paths := "every path"
	if s.access.Paths != nil {
		paths = strings.Join(s.access.Paths, ", ")
	}
	return fmt.Sprintf("by service %q alone, for %s", s.id, paths)
}
