package main

import (
	"strings"
	"testing"
)

func TestFolded(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for in, want := range map[string]string{
		"":                               "",
		"\na\nb\n":                       "\na b\n",
		"\n" + long + "\n\nexample: x\n": "\n" + strings.TrimSpace(strings.Repeat("word ", 16)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 4)) + "\n\nexample: x\n",
		"  kept   as\n  it is\n":         "  kept   as\n  it is\n",
		"example: " + long + strings.Repeat("x", 90) + "\n": "example: " + long + strings.Repeat("x", 90) + "\n",
		strings.Repeat("x", 90) + " y\n":                    strings.Repeat("x", 90) + "\ny\n",
	} {
		if got := folded(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got, want := fold(strings.Fields(long), 60, helpWidth), "word word word word\n"; !strings.HasPrefix(got, want) || !strings.Contains(got, "\n"+strings.Repeat(" ", 60)+"word") {
		t.Errorf("%q", got)
	}
}

// TestHelpFits: no line of the list of commands is wider than a terminal, and the summaries stand below each other.
func TestHelpFits(t *testing.T) {
	for _, c := range commands() {
		if line := "\n  " + c.name + strings.Repeat(" ", len("completion")-len(c.name)) + "  " + c.summary + "\n"; !strings.Contains(help(), line) {
			t.Errorf("no line %q", line)
		}
	}
	for _, line := range strings.Split(help(), "\n") {
		if len(line) > helpWidth {
			t.Errorf("%q", line)
		}
	}
}
