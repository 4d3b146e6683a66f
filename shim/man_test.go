package shim

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHelpFits: no line of --help is wider than the narrowest usual terminal.
func TestHelpFits(t *testing.T) {
	for line := range strings.Lines(Usage) {
		if len(line) > 80+len("\n") {
			t.Errorf("%q", line)
		}
	}
}

// TestManual holds docs/shim.1.md to what --help says and to the contract.
func TestManual(t *testing.T) {
	data, err := os.ReadFile("../docs/shim.1.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(data)
	synopsis, _, _ := strings.Cut(strings.TrimPrefix(Usage, "usage: "), "\n")
	if !strings.Contains(manual, "\n    "+synopsis+"\n") {
		t.Errorf("no line %q under SYNOPSIS", synopsis)
	}
	flags := func(re, text string) (names []string) {
		for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	// In both, the flag with its value; help and version stand together on one line.
	got := flags(`(?m)(?:^|, )\*\*(--[^*]+)\*\*`, manual)
	want := flags(`(?m)(?:^ {2}|, )(--[a-z-]+(?: [A-Z]+)?)`, Usage)
	if !slices.Equal(got, want) {
		t.Errorf("OPTIONS has %q, the usage %q", got, want)
	}
	for _, e := range []string{EventNoIdentity, EventHelloOK, EventBadSecret, EventHelloRefused, EventSpawnFailed, EventStarted, EventExit} {
		if !strings.Contains(manual, "| `"+e+"` |") {
			t.Errorf("STATUS EVENTS lacks %s", e)
		}
	}
	for _, n := range []int{ExitUsage, ExitRefused, ExitCannotStart, ExitNotFound} {
		if !strings.Contains(manual, "\n| "+strconv.Itoa(n)+" |") {
			t.Errorf("EXIT STATUS lacks %d", n)
		}
	}
	for _, name := range append([]string{EnvTokenFD, EnvLaunchFD, EnvBridgeSocket}, AnthropicCredentials...) {
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("ENVIRONMENT lacks %s", name)
		}
	}
}
