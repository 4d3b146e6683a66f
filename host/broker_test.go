package host

import (
	"slices"
	"testing"
)

// TestPastProxies: a launch's requests to the model proxy go to no other proxy.
func TestPastProxies(t *testing.T) {
	const base = "http://127.0.0.1:1/sandbox"
	for _, c := range []struct {
		name      string
		env, want []string
	}{
		{"no proxy: nothing but the base URL", []string{"A=1", "ANTHROPIC_BASE_URL=x", "NO_PROXY=a"}, []string{"A=1", "NO_PROXY=a", "ANTHROPIC_BASE_URL=" + base}},
		{"an empty one", []string{"HTTPS_PROXY="}, []string{"HTTPS_PROXY=", "ANTHROPIC_BASE_URL=" + base}},
		{"a proxy", []string{"https_proxy=p"}, []string{"https_proxy=p", "ANTHROPIC_BASE_URL=" + base, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}},
		{"one exception serves both", []string{"HTTP_PROXY=p", "NO_PROXY=a,b"}, []string{"HTTP_PROXY=p", "ANTHROPIC_BASE_URL=" + base, "NO_PROXY=a,b,127.0.0.1", "no_proxy=a,b,127.0.0.1"}},
		{"each its own", []string{"ALL_PROXY=p", "NO_PROXY=a", "no_proxy=b"}, []string{"ALL_PROXY=p", "ANTHROPIC_BASE_URL=" + base, "NO_PROXY=a,127.0.0.1", "no_proxy=b,127.0.0.1"}},
	} {
		if got := pastProxies(slices.Clone(c.env), []string{"ANTHROPIC_BASE_URL=" + base}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
