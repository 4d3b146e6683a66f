package credential

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const key = "claude_token_file"

func TestT02Expand(t *testing.T) {
	for _, c := range []struct{ name, home, value, want, err string }{
		{"absolute", "/home/u", "/etc/token", "/etc/token", ""},
		{"home", "/home/u", "~/token", "/home/u/token", ""},
		{"home needs nothing when absolute", "", "/token", "/token", ""},
		{"home alone", "/home/u", "~/", "/home/u", ""},
		{"cleaned", "/home/u", "//a/./b/../c/", "/a/c", ""},
		{"cleaned above home", "/home/u", "~/../v//t", "/home/v/t", ""},
		{"above the root", "/home/u", "/../../t", "/t", ""},
		{"spaces are part of it", "/home/u", "/a b ", "/a b ", ""},
		{"tilde inside", "/home/u", "/a/~/b", "/a/~/b", ""},
		{"empty", "/home/u", "", "", `claude_token_file "": neither absolute nor under ~/`},
		{"relative", "/home/u", "token", "", `claude_token_file "token": neither absolute nor under ~/`},
		{"dot", "/home/u", "./token", "", `claude_token_file "./token": neither absolute nor under ~/`},
		{"tilde alone", "/home/u", "~", "", `claude_token_file "~": neither absolute nor under ~/`},
		{"other user", "/home/u", "~root/token", "", `claude_token_file "~root/token": neither absolute nor under ~/`},
		{"variable", "/home/u", "$HOME/token", "", `claude_token_file "$HOME/token": neither absolute nor under ~/`},
		{"space first", "/home/u", " /token", "", `claude_token_file " /token": neither absolute nor under ~/`},
		{"URL", "/home/u", "file:///t", "", `claude_token_file "file:///t": neither absolute nor under ~/`},
		{"NUL", "/home/u", "/a\x00b", "", `claude_token_file "/a\x00b": holds a NUL byte`},
		{"NUL under home", "/home/u", "~/\x00", "", `claude_token_file "~/\x00": holds a NUL byte`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOME", c.home)
			got, err := Expand(key, c.value)
			if got != c.want || errText(err) != c.err {
				t.Errorf("got %q, %v; want %q, %s", got, err, c.want, c.err)
			}
		})
	}
}

// Without HOME the user database counts, whatever it says here.
func TestT02Home(t *testing.T) {
	want := ""
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		want = u.HomeDir
	}
	for _, home := range []string{"", "relative", "./x"} {
		t.Setenv("HOME", home)
		if got, err := Home(); got != want || (err == nil) != (want != "") {
			t.Errorf("HOME=%q: %q, %v; want %q", home, got, err, want)
		}
	}
	t.Setenv("HOME", "/h")
	if got, err := Home(); got != "/h" || err != nil {
		t.Errorf("HOME=/h: %q, %v", got, err)
	}
}

func TestT02ExpandNamesItsKey(t *testing.T) {
	_, err := Expand("llm_proxy.clients.c1.token_file", "x")
	if want := `llm_proxy.clients.c1.token_file "x": neither absolute nor under ~/`; errText(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "/", "~/", "~/a/../..", "//x", "/a\x00", "~x", "\xff/", "~/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		t.Setenv("HOME", "/home/u")
		path, err := Expand(key, value)
		if err != nil {
			if path != "" || !strings.HasPrefix(err.Error(), key+" \"") || strings.ContainsAny(err.Error(), "\x00\n") {
				t.Errorf("%q: %q, %v", value, path, err)
			}
			return
		}
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.Contains(path, "\x00") {
			t.Errorf("%q becomes %q", value, path)
		}
		if again, err := Expand(key, path); err != nil || again != path {
			t.Errorf("%q becomes %q, then %q, %v", value, path, again, err)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
