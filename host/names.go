package host

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hostshim/host/settings"
)

// How credentials are usually named (E03, E04). Only the name counts: what a value holds is not looked into. Letter case
// does not count, since programs read such variables in either.
var (
	credentialParts = []string{"PASS", "PASSWORD", "PASSWD", "PASSPHRASE", "PWD", "PAT", "SECRET", "TOKEN", "KEY", "APIKEY",
		"CREDENTIAL", "CREDENTIALS", "AUTH", "AUTHTOKEN"} // between underscores
	credentialPrefixes = []string{"AWS_", "GIT_CONFIG_VALUE_"}                                              // http.extraHeader's, say
	credentialNames    = []string{"PGPASSWORD", "KUBECONFIG", "GPG_AGENT_INFO", "ANTHROPIC_CUSTOM_HEADERS", // SSH_AUTH_SOCK has its part
		"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"} // without what they count git stops: GIT_CONFIG_KEY_0 has its part

	// harmless are names that look like one and hold none. GPG_KEY is a fingerprint in many container images,
	// AWS_CA_BUNDLE a file of certificates.
	harmless = []string{"PWD", "GPG_KEY", "AWS_CA_BUNDLE"}
)

// UsualCredential says whether a variable's name is one that credentials usually have.
func UsualCredential(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmless, name) {
		return false
	}
	starts := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc(credentialPrefixes, starts) || slices.Contains(credentialNames, name) ||
		slices.ContainsFunc(strings.FieldsFunc(name, notLetter), func(part string) bool { return slices.Contains(credentialParts, part) })
}

// notLetter: npm reads variables such as "npm_config_//registry.npmjs.org/:_authToken".
func notLetter(c rune) bool { return !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') }

// elsewhere lists what in an environment leads Claude Code, and with it the token, to another place than the provider at
// upstream (E05): variables, with the address where that is no secret.
func elsewhere(env []string, upstream string) (all []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		var u *url.URL
		away := false
		switch upper := strings.ToUpper(name); {
		case value == "":
		case name == "ANTHROPIC_CUSTOM_HEADERS":
			all = append(all, name)
		case name == "ANTHROPIC_BASE_URL":
			u = address(value)
			away = !sameServer(u, upstream) && !sameServer(u, settings.DefaultUpstream)
		case strings.HasSuffix(upper, "_PROXY") && upper != "NO_PROXY":
			u = address(value)
			away = u.Scheme != "https" && !thisMachine(u.Hostname())
		}
		if away {
			all = append(all, name+" ("+u.Scheme+"://"+u.Host+")") // without user, path and query
		}
	}
	return all
}

// address is what a variable leads to. A proxy may be named by its address alone.
func address(value string) *url.URL {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		if u, err = url.Parse("http://" + value); err != nil {
			u = &url.URL{Scheme: "http", Host: "?"}
		}
	}
	return u
}

func sameServer(u *url.URL, other string) bool {
	o, err := url.Parse(other)
	return err == nil && u.Scheme == o.Scheme && strings.EqualFold(strings.TrimSuffix(u.Host, ":443"), strings.TrimSuffix(o.Host, ":443"))
}

func thisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
