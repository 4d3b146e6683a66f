package shim

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	const good = `{"version":1,"read":["/usr"],"read_write":["/w"],"devices":["/dev/null"],"deny":["/w/t"],"private":["/w/p"],"read_only":["/w/r"],"network":"open"}`
	p, err := ParsePolicy([]byte(good + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{1, []string{"/usr"}, []string{"/w"}, []string{"/dev/null"}, []string{"/w/t"}, []string{"/w/p"}, []string{"/w/r"}, NetworkOpen, nil}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, want %+v", p, want)
	}
	for _, c := range []struct{ name, from, to, err string }{
		{"unknown member", `"network"`, `"extra":1,"network"`, `member "extra" is unknown`},
		{"other case", `"deny"`, `"Deny"`, `member "Deny" is unknown`},
		{"member twice", `"network"`, `"deny":[],"network"`, `member "deny" is unknown, or given twice`},
		{"wrong type", `["/w/t"]`, `"/w/t"`, `member "deny"`},
		{"wrong type inside", `["/w/t"]`, `["/w/t",7]`, `member "deny"`},
		{"other version", `:1,`, `:2,`, "version 2, want 1"},
		{"no version", `"version":1,`, ``, "version 0, want 1"},
		{"no network", `"open"`, `""`, `network "", want "open", "model" or "none"`},
		{"protect with an open network", `"network"`, `"protect":[],"network"`, `protect needs network "model" or "none"`},
		{"protect, relative", `"network":"open"`, `"protect":["a"],"network":"model"`, `path "a" is not absolute and clean`},
		{"relative", `"/w/t"`, `"w/t"`, `path "w/t" is not absolute and clean`},
		{"not clean", `"/w/t"`, `"/w/../t"`, "not absolute and clean"},
		{"relative private", `"/w/p"`, `"p"`, `path "p" is not absolute and clean`},
		{"relative read-only", `"/w/r"`, `"r"`, `path "r" is not absolute and clean`},
		{"trailing slash", `"/w/t"`, `"/w/t/"`, "not absolute and clean"},
		{"empty path", `"/w/t"`, `""`, "not absolute and clean"},
		{"NUL", `"/w/t"`, `"/w\u0000t"`, "not absolute and clean"},
		{"not UTF-8", `"/w/t"`, "\"/w/\xff\"", "not UTF-8"},
		{"trailing data", `"open"}`, `"open"}{}`, "data after the policy"},
		{"cut short", `"open"}`, `"open"`, "unexpected EOF"},
		{"nothing", good, ``, "unexpected EOF"},
		{"null", good, `null`, "not an object"},
		{"list", good, `[]`, "not an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.from, c.to, 1)
			if p, err := ParsePolicy([]byte(text)); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("ParsePolicy(%s) = %v, %v, want an error with %q", text, p, err, c.err)
			}
		})
	}
}

// An accepted policy holds only paths that mean what they say, and survives the way through the file.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{"version":1,"read":["/usr"],"deny":["/w/t"],"network":"open"}`))
	f.Add([]byte(`{"version":1,"protect":["/w/.git"],"network":"model"}`))
	f.Add([]byte(`{"version":1,"protect":["/w/.git"],"network":"none"}`))
	f.Add([]byte(`{"version":1,"devices":null,"network":"model"} `))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data)
		if err != nil {
			return
		}
		for _, list := range [][]string{p.Read, p.ReadWrite, p.Devices, p.Deny, p.Private, p.ReadOnly, p.Protect} {
			for _, path := range list {
				if path == "" || path[0] != '/' || filepath.Clean(path) != path || strings.ContainsAny(path, "\x00\ufffd") {
					t.Errorf("accepted path %q", path)
				}
			}
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParsePolicy(text); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%s read again: %+v, %v", text, again, err)
		}
	})
}
