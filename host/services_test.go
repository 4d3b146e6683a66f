package host

import (
	"slices"
	"testing"

	"hostshim/host/credential"
	"hostshim/host/settings"
	"hostshim/shim"
)

// git is led to services behind what its environment says already, and a variable that somebody set stays.
func TestA04GitEnv(t *testing.T) {
	basic := basicForm(credential.NewSecret([]byte("pairing")))
	const header = "Authorization: Basic c2Vzc2lvbjpwYWlyaW5n"
	one := service{"git", settings.Access{Client: settings.Client{Upstream: "https://git.example.com/scm"}}}
	two := service{"b", settings.Access{Client: settings.Client{Upstream: "http://127.0.0.1:1"}}}
	for _, c := range []struct {
		network  string
		env      []string
		services []service
		want     []string
	}{
		{shim.NetworkOpen, nil, []service{one}, []string{
			"GIT_CONFIG_KEY_0=url.http://p/service/git/.insteadOf", "GIT_CONFIG_VALUE_0=https://git.example.com/scm/",
			"GIT_CONFIG_KEY_1=http.http://p/service/git/.extraHeader", "GIT_CONFIG_VALUE_1=" + header,
			"GIT_CONFIG_KEY_2=http.http://p/service/git/.proxy", "GIT_CONFIG_VALUE_2=", "GIT_CONFIG_COUNT=3"}},
		{shim.NetworkModel, []string{"GIT_CONFIG_COUNT=2", "GIT_TERMINAL_PROMPT=1"}, []service{two}, []string{
			"GIT_CONFIG_KEY_2=url.http://p/service/b/.insteadOf", "GIT_CONFIG_VALUE_2=http://127.0.0.1:1/",
			"GIT_CONFIG_KEY_3=http.http://p/service/b/.extraHeader", "GIT_CONFIG_VALUE_3=" + header,
			"GIT_CONFIG_KEY_4=http.http://p/service/b/.proxy", "GIT_CONFIG_VALUE_4=", "GIT_CONFIG_COUNT=5"}},
	} {
		p := &Plan{network: c.network, services: c.services}
		if got := p.gitEnv(c.env, "http://p/service", basic); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	p := &Plan{network: shim.NetworkNone, services: []service{one, two}}
	if got := p.gitEnv(nil, "http://p/service", basic); len(got) != 14 || got[13] != "GIT_TERMINAL_PROMPT=0" || got[12] != "GIT_CONFIG_COUNT=6" {
		t.Errorf("%q", got)
	}
	for text, ok := range map[string]bool{"": true, "0": true, "9999": true, "-1": false, "10000": false, "x": false, " 1": false, "99999999999999999999": false} {
		p := &Plan{env: []string{"GIT_CONFIG_COUNT=" + text}, services: []service{one}}
		if (p.checkGitConfig() == nil) != ok {
			t.Errorf("%q: %v", text, p.checkGitConfig())
		}
	}
}
