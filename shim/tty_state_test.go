package shim

import (
	"slices"
	"strings"
	"testing"
)

// The modes by their numbers, which are the terminals' own: what the lists leave out stays set after a killed target.
func TestS22EmulatorReset(t *testing.T) {
	got := strings.Split(strings.ReplaceAll(string(emulatorReset()), "\x1b[?", " ?"), " ")[1:]
	want := strings.Fields("?1l ?9l ?1000l ?1001l ?1002l ?1003l ?1005l ?1006l ?1015l ?1016l ?1004l ?2004l ?2026l\x1b> ?7h ?25h\x1b7 ?1049l ?1047l ?47l")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
