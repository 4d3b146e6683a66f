package shim

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// moreStat is what follows the parent, up to the time of the start.
const moreStat = " 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711"

func TestParseStat(t *testing.T) {
	for line, want := range map[string]process{
		"12 (sh) S 7":                 {pid: 12, name: "sh", parent: 7},
		"12 (a) S 1 (b) c) R 7":       {pid: 12, name: "a) S 1 (b) c", parent: 7},
		"12 (new\nline ) Z 0":         {pid: 12, name: "new\nline ", parent: 0},
		"12 () S 7":                   {pid: 12, parent: 7},
		"2147483647 (x) S 2147483646": {pid: 2147483647, name: "x", parent: 2147483646},
	} {
		want.began = 4711
		if got, err := parseStat([]byte(line + moreStat)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "12", "12 (sh", "12 sh) S 7", ")(", "12 (sh) S", "12 (sh) S 7", "12 (sh) S x" + moreStat, "x (sh) S 7" + moreStat, "12 (sh) S 7" + moreStat[:len(moreStat)-4] + "x"} {
		if got, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
	p, err := openProcess(os.Getpid())
	if err != nil || p.pid != os.Getpid() || p.parent != os.Getppid() || p.began == 0 {
		t.Errorf("this process: %+v, %v", p, err)
	}
}

// A name that holds what looks like the end of the name does not change the parent.
func FuzzParseStat(f *testing.F) {
	f.Add("sh", 7)
	f.Add("a) S 1 (b", 7)
	f.Fuzz(func(t *testing.T, name string, parent int) {
		p, err := parseStat(fmt.Appendf(nil, "12 (%s) S %d"+moreStat, name, parent))
		if err != nil || p.name != name || p.parent != parent {
			t.Errorf("%q, %d: %+v, %v", name, parent, p, err)
		}
		parseStat([]byte(name))
	})
}

// What encode makes, decodeStage reads; whatever else comes, it does not invent a token or a listener.
func FuzzDecodeStage(f *testing.F) {
	f.Add("7", "token,listener", "/p", "/bin/true", "true")
	f.Add("0", "", "/p", "a", "b")
	f.Fuzz(func(t *testing.T, parent, words, profile, path, arg string) {
		s, err := decodeStage([]string{stageName, parent, words, profile, path, arg})
		if err != nil {
			return
		}
		if s.token && !strings.Contains(words, wordToken) || s.listener && !strings.Contains(words, wordListener) {
			t.Errorf("%q became %+v", words, s)
		}
		again, err := decodeStage(s.encode())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	})
}
