package shim

import "testing"

// The waits of the identity's rules, which nobody would want to see at work in full.
func TestNumbersOfTheRules(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		got, want  int
	}{
		{"S09", "seconds to read the secret", SecretSeconds, 10},
		{"S10", "seconds to reach the bridge", DialSeconds, 5},
		{"S10", "seconds for the exchange with it", HelloSeconds, 10},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d %s, want %d", c.rule, c.got, c.name, c.want)
		}
	}
}
