package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"hostshim/host/credential"
)

// Service is a server other than the model's, to which the proxy adds a credential: first of all a git host (A04).
type Service struct {
	Upstream  string   `key:"upstream" want:"upstream"`
	TokenFile string   `key:"token_file"`
	Auth      string   `key:"auth" want:"auth"`          // "": by the credential (P08)
	Paths     []string `key:"paths" want:"service path"` // nil: all
	Methods   []string `key:"methods" words:"DELETE GET HEAD PATCH POST PUT"`
}

// check: nothing stands in for either, least of all Claude's.
func (s *Service) check() error {
	if s.Upstream == "" || s.TokenFile == "" {
		return errors.New("a service needs an upstream and a token_file")
	}
	return nil
}

// Services are the ids of all services.
func (s *Settings) Services() []string {
	return slices.Sorted(maps.Keys(s.Effective().Services))
}

// ServiceAccess is what requests to a service get. With an error all but the token file is right.
func (s *Settings) ServiceAccess(id string) (a Access, err error) {
	service, ok := s.Effective().Services[id]
	a.Key = "llm_proxy.services." + id
	if !ok {
		near := ""
		if known := Near(id, s.Services()); known != "" {
			near = fmt.Sprintf(": the nearest is %q", known)
		}
		return a, fmt.Errorf("%s is not in settings.json%s", a.Key, near)
	}
	a.Key += ".token_file"
	a.Client = Client{Upstream: service.Upstream, TokenFile: service.TokenFile, Auth: service.Auth, Paths: service.Paths, Methods: service.Methods}
	a.Path, err = credential.Expand(a.Key, a.TokenFile)
	return a, err
}

// GitConfig is what leads git to the service, at base: keys and values of its configuration. Header is sent to base alone. In a
// closed session, where ssh gets nowhere, the usual ssh spellings of the same host lead there too.
func (a Access) GitConfig(base, header string, closed bool) (all [][2]string) {
	upstream := strings.TrimSuffix(a.Upstream, "/") + "/"
	instead := []string{upstream}
	if u, err := url.Parse(a.Upstream); err == nil && closed && u.Scheme == "https" && u.Port() == "" && strings.Trim(u.Path, "/") == "" {
		instead = append(instead, "git@"+u.Host+":", "ssh://git@"+u.Host+"/")
	}
	for _, from := range instead {
		all = append(all, [2]string{"url." + base + "/.insteadOf", from})
	}
	// No proxy of the user's own configuration: it could not reach the host's, and must not see the header.
	return append(all, [2]string{"http." + base + "/.extraHeader", header}, [2]string{"http." + base + "/.proxy", ""})
}

// servicePath accepts what requestPath does, and a repository behind fetch: or push:.
func servicePath(text string) bool {
	for _, access := range []string{"fetch:", "push:"} {
		if repository, ok := strings.CutPrefix(text, access); ok {
			return requestPath(repository) && !strings.HasSuffix(repository, "/")
		}
	}
	return requestPath(text)
}
