package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestA04Service(t *testing.T) {
	t.Setenv("HOME", "/h")
	s, _, err := parse("s.json", []byte(`{"claude_token_file": "/claude", "llm_proxy": {"services": {
		"git": {"upstream": "https://git.example.com/", "token_file": "~/git", "auth": "basic:me", "paths": ["fetch:/a.git", "push:/b/*", "/api/*"], "methods": ["GET"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.ServiceAccess("git")
	if err != nil || a.Upstream != "https://git.example.com/" || a.Key != "llm_proxy.services.git.token_file" || a.Path != "/h/git" || a.Auth != "basic:me" ||
		len(a.Paths) != 3 || len(a.Methods) != 1 || !a.Own() {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := s.ServiceAccess("gi"); errorText(err) != `llm_proxy.services.gi is not in settings.json: the nearest is "git"` || a.Upstream != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if all := s.TokenFiles(); !slices.Equal(all, []string{"/claude", "/h/git"}) {
		t.Errorf("denied: %v", all)
	}
}

func TestA04GitConfig(t *testing.T) {
	const base = "http://127.0.0.1:1/service/git"
	for _, c := range []struct {
		upstream string
		closed   bool
		instead  []string
	}{
		{"https://git.example.com", false, []string{"https://git.example.com/"}},
		{"https://git.example.com/", true, []string{"https://git.example.com/", "git@git.example.com:", "ssh://git@git.example.com/"}},
		{"https://example.com/scm", true, []string{"https://example.com/scm/"}},
		{"https://example.com:8443", true, []string{"https://example.com:8443/"}},
		{"http://127.0.0.1:80", true, []string{"http://127.0.0.1:80/"}},
	} {
		var want [][2]string
		for _, from := range c.instead {
			want = append(want, [2]string{"url." + base + "/.insteadOf", from})
		}
		want = append(want, [2]string{"http." + base + "/.extraHeader", "h"}, [2]string{"http." + base + "/.proxy", ""})
		if got := (Access{Client: Client{Upstream: c.upstream}}).GitConfig(base, "h", c.closed); !slices.Equal(got, want) {
			t.Errorf("%s: %q", c.upstream, got)
		}
	}
}

func TestA04ServiceMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": {}}`:                          `1:34: key llm_proxy.services.a: a service needs an upstream and a token_file`,
		`{"a": {"upstream": "https://h"}}`:   `1:34: key llm_proxy.services.a: a service needs an upstream and a token_file`,
		`{"a": {"token_file": "/f"}}`:        `1:34: key llm_proxy.services.a: a service needs an upstream and a token_file`,
		`{"A": {}}`:                          `1:29: key llm_proxy.services.A: want service ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first`,
		`{"a": {"upstream": "http://h"}}`:    `1:47: key llm_proxy.services.a.upstream: want an https URL, or http to a loopback host, without user, query and fragment`,
		`{"a": {"requests": 5}}`:             `1:35: key llm_proxy.services.a.requests: unknown, the nearest known key is "auth"`,
		`{"a": {"paths": ["a.git"]}}`:        `want fetch:/REPOSITORY`,
		`{"a": {"paths": ["pull:/a.git"]}}`:  `want fetch:/REPOSITORY`,
		`{"a": {"paths": ["fetch:a.git"]}}`:  `want fetch:/REPOSITORY`,
		`{"a": {"paths": ["push:/a.git/"]}}`: `want fetch:/REPOSITORY`,
		`{"a": {"paths": ["push:/../a"]}}`:   `want fetch:/REPOSITORY`,
	} {
		_, _, err := parse("s.json", []byte(`{"llm_proxy": {"services": `+text+`}}`))
		if err == nil || len(want) < 40 && !strings.Contains(err.Error(), want) || len(want) >= 40 && err.Error() != "s.json:"+want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
