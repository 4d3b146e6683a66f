package host

import (
	"slices"
	"strings"
	"testing"

	"hostshim/host/settings"
)

func TestA03Target(t *testing.T) {
	codex, err := (&settings.Settings{}).Template("codex")
	if err != nil {
		t.Fatal(err)
	}
	mine := settings.Template{ID: "mine", Command: "make", Args: []string{"test"}}
	for _, c := range []struct {
		template settings.Template
		api      bool
		argv     string
		want     string
		ours     bool
	}{
		{codex, false, "", "", true},
		{codex, false, "exec hi", "codex exec hi", true},
		{codex, false, "--search exec hi", "codex --search exec hi", true},
		{codex, false, "codex exec hi", "codex exec hi", false},
		{codex, false, "./exec hi", "./exec hi", false},
		{codex, false, "coedx exec", "coedx exec", false},
		{codex, false, "git exec", "git exec", false},
		{codex, true, "exec hi", "exec hi", false},
		{codex, true, "-x", "-x", false},
		{mine, false, "-j4", "make -j4", true},
		{mine, false, "exec hi", "exec hi", false},
		{settings.Template{ID: "none"}, false, "-x", "-x", false},
	} {
		argv, ours := (&Request{ByHand: !c.api, Argv: strings.Fields(c.argv)}).target(c.template)
		if strings.Join(argv, " ") != c.want || ours != c.ours {
			t.Errorf("%s %q: %q, %v", c.template.ID, c.argv, argv, ours)
		}
	}

	// The template's own arguments follow the program's name.
	h := New(Config{})
	for argv, want := range map[string]string{
		"":              "make test",
		"-j4":           "make test -j4",
		"make -j4":      "make -j4", // a TARGET replaces the command, and what belongs to it
		"agent make -j": "agent make -j",
	} {
		p := &Plan{request: &Request{ByHand: true, Kind: "run", Argv: strings.Fields(argv)}}
		if got, err := h.command(p, mine); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", argv, got, err)
		}
	}
	for argv, own := range map[string]bool{"codex exec hi": true, "exec hi": true, "": true, "sh exec hi": false} {
		p := &Plan{request: &Request{ByHand: true, Kind: "run", Argv: strings.Fields(argv)}}
		got, err := h.command(p, codex)
		if led := slices.Contains(got, codex.Args[1]); err != nil || led != own || own != (p.ownArgs == len(codex.Args)) || len(got) == 0 {
			t.Errorf("%q: %q, %v", argv, got, err)
		}
	}
}
