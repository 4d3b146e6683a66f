package main

import (
	"os"
	"testing"
)

func TestU02OwnName(t *testing.T) {
	defer func(was string) { os.Args[0] = was }(os.Args[0])
	os.Args[0] = "/usr/bin/relay-host"
	for text, want := range map[string]string{
		"":                                 "",
		"host run":                         "relay-host run",
		"see `host log`, host  run, host.": "see `relay-host log`, host  run, host.",
		"a host of yours; host runs":       "a host of yours; host runs",
		"my-host run, ghost run":           "my-host run, ghost run",
		"host host stop, host stop\n":      "host relay-host stop, relay-host stop\n",
	} {
		if got := inOwnName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
