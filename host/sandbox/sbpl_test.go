package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostshim/shim"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Sessions on a Mac on paper. docs/macos.md says what of them only a real one can prove.
var macSessions = []struct {
	name string
	disk disk
	spec func(*Spec)
}{
	{"01-native", mac, func(s *Spec) {}},
	{"02-template", mac.and(disk{"/Users/ann/.gitconfig": "file", "/Users/ann/notes": "dir"}), func(s *Spec) {
		s.Program = "/bin/zsh"
		s.Read = []string{"~/.gitconfig", "~/notes/"}
		s.ReadWrite = []string{"~/.cache/shell", "~/.claude.json"}
		s.Deny = []string{"~/notes/private"}
	}},
	{"03-homebrew", mac.and(disk{
		"/opt/homebrew/bin/claude":                                        "link ../lib/node_modules/@anthropic-ai/claude-code/cli.js",
		"/opt/homebrew/lib/node_modules/@anthropic-ai/claude-code/cli.js": "#!/usr/bin/env node",
		"/opt/homebrew/bin/node":                                          "link ../Cellar/node/24.1.0/bin/node",
		"/opt/homebrew/Cellar/node/24.1.0/bin/node":                       "exec",
		"/opt/homebrew/opt/openssl@3":                                     "link ../Cellar/openssl@3/3.5",
		"/opt/homebrew/etc/ca-certificates/cert.pem":                      "file",
		"/opt/homebrew/etc/openssl@3/cert.pem":                            "link ../ca-certificates/cert.pem",
		"/opt/homebrew/var/postgres/PG_VERSION":                           "file",
		"/opt/homebrew/Cellar/openssl@3/3.5/lib/libssl":                   "file",
	}), func(s *Spec) {
		s.Program = "/opt/homebrew/bin/claude"
		s.Path = "/opt/homebrew/bin:/usr/bin:/bin"
	}},
	{"04-nvm", mac.and(disk{
		"/Users/ann/.nvm/versions/node/v24.1.0/bin/node":                                          "exec",
		"/Users/ann/.nvm/versions/node/v24.1.0/bin/claude":                                        "link ../lib/node_modules/@anthropic-ai/claude-code/cli.js",
		"/Users/ann/.nvm/versions/node/v24.1.0/lib/node_modules/@anthropic-ai/claude-code/cli.js": "#!/usr/bin/env -S node --no-warnings",
	}), func(s *Spec) {
		s.Program = "/Users/ann/.nvm/versions/node/v24.1.0/bin/claude"
		s.Path = "/Users/ann/.nvm/versions/node/v24.1.0/bin:/usr/bin:/bin"
	}},
	{"05-home-granted", mac, func(s *Spec) {
		s.ReadWrite = []string{"~"}
		s.Deny = []string{"~/.config"}
	}},
	{"06-missing-denies", mac, func(s *Spec) {
		s.ReadWrite = []string{"~/code"}
		s.Deny = []string{"~/code/keys/api.key", "~/code/Schlüssel (alt)"}
	}},
	{"07-linked", mac.and(disk{
		"/private/tmp/build": "dir", "/private/tmp/token": "file", "/private/etc/hosts.d": "dir",
	}), func(s *Spec) {
		s.WorkDir = "/tmp/build"
		s.Private[0] = "/tmp/token"
		s.Read = []string{"/etc/hosts.d/.."}
	}},
	{"08-model-network", mac.and(disk{"/Users/ann/run/agent.sock": "sock"}), func(s *Spec) {
		s.Network, s.ModelPort = shim.NetworkModel, 49200
		s.ReadWrite = []string{"~/run/agent.sock"}
	}},
	{"09-xcode", mac.and(disk{
		"/private/var/select/developer_dir":                         "link /Applications/Xcode.app/Contents/Developer",
		"/Applications/Xcode.app/Contents/Developer/usr/bin/git":    "exec",
		"/Applications/Xcode.app/Contents/Developer/Toolchains/any": "file",
	}), func(s *Spec) { s.ReadWrite = []string{"~/Library/Developer/Xcode/DerivedData"} }},
	{"10-letter-case", mac.and(disk{"/Users/ann/Café & Tee/Projekt": "dir"}), func(s *Spec) {
		s.WorkDir = "/users/ANN/café & tee/PROJEKT"
		s.Deny = []string{"~/CAFÉ & TEE/projekt/.ENV"}
		s.Read = []string{"~/Library/application support/relay-host/.."}
	}},
	{"11-private", mac.and(disk{
		"/Users/ann/.ssh/id": "file", "/Users/ann/.ssh/known_hosts": "file", "/Users/ann/.aws": "dir", "/Users/ann/.gnupg": "link Keys/gnupg",
		"/Users/ann/Keys/gnupg": "dir", "/Users/ann/.zshrc": "file", "/Users/ann/.config/fish/conf.d": "dir", "/Users/ann/.config/gh": "dir",
	}), func(s *Spec) {
		s.Read = []string{"~/.aws", "~/.ssh/known_hosts"}
		s.ReadWrite = []string{"~", "~/.config/fish/conf.d", "~/.config/git"}
	}},
	{"12-terminal", mac.and(disk{
		"/dev/ttys003": "char", "/dev/ttys004": "char", "/Users/ann/Übungen": "dir", "/Users/ann/deeper": "dir",
	}), func(s *Spec) {
		s.Terminals, s.ListAbove = []string{"/dev/ttys003", "/dev/ttys003"}, true
		s.ReadWrite = []string{"~", "/var/folders/zz/abc/T"}
		s.Deny = []string{"~/secret"}
	}},
	{"13-no-network", mac, func(s *Spec) { s.Network, s.ModelPort = shim.NetworkNone, 49200 }},
}

// macProfile builds one of the sessions.
func macProfile(t *testing.T, name string) *Profile {
	t.Helper()
	for _, c := range macSessions {
		if c.name == name {
			spec := macSpec()
			c.spec(&spec)
			p, err := build(spec, c.disk.facts(true))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no session %q", name)
	return nil
}

func TestGoldenProfiles(t *testing.T) {
	for _, c := range macSessions {
		t.Run(c.name, func(t *testing.T) {
			spec := macSpec()
			c.spec(&spec)
			p, err := build(spec, c.disk.facts(true))
			if err != nil {
				t.Fatal(err)
			}
			if wide := len(p.Warnings) == 1 && slices.Contains(spec.ReadWrite, "~"); p.Ext != ".sb" || len(p.Warnings) != 0 && !wide {
				t.Errorf("extension %q, warnings %q", p.Ext, p.Warnings)
			}
			golden := filepath.Join("testdata", c.name+".sb")
			if *update {
				if err := os.WriteFile(golden, p.Text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(p.Text) {
				t.Errorf("%s differs (go test -update rewrites it); now:\n%s", golden, p.Text)
			}
			if err := parseSBPL(string(p.Text)); err != "" {
				t.Errorf("%s: %s", golden, err)
			}
		})
	}
}

// A path that cannot be written safely refuses the profile, wherever it comes from.
func TestUnquotable(t *testing.T) {
	for _, name := range []string{`a"b`, `a\b`, "a\nb", "a\x7fb", "a\u0085b"} {
		for _, place := range []func(*Spec){
			func(s *Spec) { s.WorkDir = "/Users/ann/" + name },
			func(s *Spec) { s.Read = []string{"~/" + name} },
			func(s *Spec) { s.ReadWrite = []string{"~/new/" + name} },
			func(s *Spec) { s.Deny = []string{"~/" + name} },
			func(s *Spec) { s.Deny = []string{"~/new/" + name} },
			func(s *Spec) { s.Private = []string{"~/" + name + "/x"} },
			func(s *Spec) { s.TempDir = "/tmp/" + name },
		} {
			spec := macSpec()
			place(&spec)
			d := mac.and(disk{"/Users/ann/" + name: "dir"})
			_, err := build(spec, d.facts(true))
			if err == nil || !strings.Contains(err.Error(), "no profile can name it") {
				t.Errorf("%q: %v", name, err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x7f") {
				t.Errorf("%q: message %q is not one line", name, err)
			}
		}
	}
}

// On a Mac a link in a granted folder stays a link: writing through it is granted, replacing it is not.
func TestLinkItselfIsNotWritable(t *testing.T) {
	spec := macSpec()
	spec.ReadWrite = []string{"~/cfg"}
	d := mac.and(disk{"/Users/ann/cfg": "link dotfiles/cfg", "/Users/ann/dotfiles/cfg": "dir"})
	p, err := build(spec, d.facts(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(p.Text), "\n(") {
		if strings.HasPrefix(rule, "allow file-read* file-write*") && strings.Contains(rule, `"/Users/ann/cfg"`) {
			t.Errorf("writable: %s", rule)
		}
	}
	if !strings.Contains(string(p.Text), `(subpath "/Users/ann/dotfiles/cfg")`) {
		t.Error("the link's target is not granted")
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"/a b", `/a") (allow default) ("`, `/a\`, "/\x00", "/ü", "/K", "/\xff", "/[a]*$|^"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := quoteSBPL(s)
		if err == nil && (len(q) != len(s)+2 || strings.ContainsAny(s, "\"\\\n\x00")) {
			t.Errorf("%q quoted as %q", s, q)
		}
		if err == nil {
			if bad := parseSBPL("(x " + q + ")\n"); bad != "" {
				t.Errorf("%q: %s", q, bad)
			}
		}
		path := filepath.Join("/there", s)
		if !strings.HasPrefix(path, "/there/") {
			return
		}
		re, err := anyCase(path, len("/there"), "(/|$)")
		if err == nil {
			if bad := parseSBPL("(regex " + re + ")\n"); bad != "" {
				t.Errorf("%q: %s", re, bad)
			}
		}
		if (err == nil) != (quotable(path) == nil) {
			t.Errorf("%q: %v", path, err)
		}
	})
}

// parseSBPL reads a profile as its compiler would, as far as lists, strings and comments go, and says what
// is wrong with it, "" if nothing.
func parseSBPL(text string) string {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ';':
			i += strings.IndexByte(text[i:], '\n')
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return "a list ends that never began"
			}
		case c == '"':
			raw := text[i-1] == '#'
			n := strings.IndexByte(text[i+1:], '"')
			if n < 0 {
				return "a string does not end"
			}
			body := text[i+1 : i+1+n]
			if strings.ContainsFunc(body, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return "a string holds a control character: " + body
			}
			if !raw && strings.Contains(body, `\`) {
				return "a string holds a backslash: " + body
			}
			i += n + 1
		case depth == 0 && c != '\n':
			return "text outside of a list: " + text[i:]
		}
	}
	if depth != 0 {
		return "a list does not end"
	}
	return ""
}
