package testscript

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUpdate: -update rewrites the expected file, in the archive, with paths and secrets by their names.
func TestUpdate(t *testing.T) {
	const before = "# comment\nexec echo new $WORK\ncmp stdout want\n-- other --\nkept\n-- want --\nold\n"
	const after = "# comment\nexec echo new $WORK\ncmp stdout want\n-- other --\nkept\n-- want --\nnew $WORK\n"
	path := filepath.Join(t.TempDir(), "x.txtar")
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, update := range []bool{true, false} {
		if v := runScript(path, "x.txtar", newFolder(t), update); v.failure != "" {
			t.Fatal(v.failure)
		}
		if got := readFile(t, path); got != after {
			t.Errorf("the archive is %q, want %q", got, after)
		}
	}
}

func TestWords(t *testing.T) {
	s := &script{vars: map[string]string{"A": "x.y"}, env: map[string]string{"B": "b c"}}
	for line, want := range map[string][]string{
		"a  b\tc":         {"a", "b", "c"},
		"a # b":           {"a"},
		"a#b 'c # d'":     {"a#b", "c # d"},
		"'it''s' ''":      {"it's", ""},
		"$A ${A}z '$A'$B": {"x.y", "x.yz", "$Ab c"},
		"é'ü'":            {"éü"},
	} {
		words, err := splitLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if len(words) != len(want) {
			t.Errorf("%q has %d words, want %q", line, len(words), want)
			continue
		}
		for i, w := range words {
			if got, err := s.expand(w, false); err != nil || got != want[i] {
				t.Errorf("%q: word %d is %q (%v), want %q", line, i, got, err, want[i])
			}
		}
	}
	w := word{{text: "^$A"}}
	if got, _ := s.expand(w, true); got != `^x\.y` {
		t.Errorf("in a regular expression: %q", got)
	}
}
