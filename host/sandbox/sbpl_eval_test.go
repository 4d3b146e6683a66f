package sandbox

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sexpr is one expression of a profile: an atom, a string, or a list.
type sexpr struct {
	atom string
	list []sexpr
}

// parseRules reads a profile's rules.
func parseRules(text string) []sexpr {
	stack := [][]sexpr{nil}
	add := func(e sexpr) { stack[len(stack)-1] = append(stack[len(stack)-1], e) }
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ';':
			i += strings.IndexByte(text[i:], '\n')
		case c == '(':
			stack = append(stack, nil)
		case c == ')':
			list := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			add(sexpr{list: list})
		case c == '"':
			n := strings.IndexByte(text[i+1:], '"')
			add(sexpr{atom: text[i+1 : i+1+n]})
			i += n + 1
		case c > ' ' && c != '#':
			n := strings.IndexAny(text[i:], " \n()")
			add(sexpr{atom: text[i : i+n]})
			i += n - 1
		}
	}
	return stack[0]
}

// judge says what a profile makes of an operation on a path, a service's name or an address: the last rule that
// matches decides. It is the semantics that this package counts on, in the small; a Mac has the last word.
func judge(rules []sexpr, op, on string) bool {
	allowed := false
	for _, r := range rules {
		ops := slices.DeleteFunc(slices.Clone(r.list[1:]), func(e sexpr) bool { return e.list != nil })
		filters := slices.DeleteFunc(slices.Clone(r.list[1:]), func(e sexpr) bool { return e.list == nil })
		matches := func(e sexpr) bool { return matchesFilter(e, on) }
		of := func(e sexpr) bool {
			stem, many := strings.CutSuffix(e.atom, "*")
			return e.atom == op || e.atom == "default" || many && strings.HasPrefix(op, stem)
		}
		if r.list[0].atom != "version" && slices.ContainsFunc(ops, of) && (len(filters) == 0 || slices.ContainsFunc(filters, matches)) {
			allowed = r.list[0].atom == "allow"
		}
	}
	return allowed
}

func matchesFilter(e sexpr, on string) bool {
	matches := func(e sexpr) bool { return matchesFilter(e, on) }
	not := func(e sexpr) bool { return !matchesFilter(e, on) }
	rest := e.list[1:]
	switch e.list[0].atom {
	case "literal", "global-name":
		return on == rest[0].atom
	case "subpath":
		return within(on, rest[0].atom)
	case "regex":
		return regexp.MustCompile(rest[0].atom).MatchString(on)
	case "require-all":
		return !slices.ContainsFunc(rest, not)
	case "require-any":
		return slices.ContainsFunc(rest, matches)
	case "require-not":
		return not(rest[0])
	case "remote":
		if rest[0].atom == "unix-socket" {
			return matches(rest[1])
		}
		return on == rest[1].atom
	}
	return false // target, extension, file-mode: never those of the trials here
}

// What the profiles let through, and what not, in a session of each kind.
func TestProfilesDecide(t *testing.T) {
	const home, app, temp = "/Users/ann", "/Users/ann/code/app", "/private/var/folders/zz/abc/T"
	for _, c := range []struct {
		session string
		op      string
		yes, no []string
	}{
		{"01-native", "file-read-data",
			[]string{"/usr/lib/x", "/opt/homebrew/Cellar/node/24/bin/node", "/opt/homebrew/opt/icu/lib/x", "/opt/homebrew/etc/gitconfig",
				"/Library/Apple/x", "/private/var/run/resolv.conf", "/Library/Keychains/System.keychain", "/private/var/db/mds/x",
				"/System/Cryptexes/OS/x", "/dev/fd/5", "/dev/null", "/dev", app + "/a", temp + "/relay-s1/a"},
			[]string{"/opt/homebrew/var/postgres/x", "/opt/homebrew/etc/my.cnf", "/usr/local/etc/my.cnf", "/usr/local/var/x", temp + "/other",
				temp + "/relay-s2/a", "/dev/ttys001", "/dev/disk0", home, home + "/.ssh/id", home + "/.claude-token", "/Users", "/private/var/run/x"}},
		{"01-native", "file-write-data",
			[]string{app + "/a", temp + "/relay-s1/xcrun_db", "/dev/null", "/dev/tty"},
			[]string{temp + "/xcrun_db", "/opt/homebrew/bin/git", "/dev/ttys001", "/private/tmp/xcrun_db-Ab", home + "/a"}},
		{"01-native", "file-clone", []string{app + "/a", "/usr/lib/x"}, []string{home + "/.ssh/id", "/usr/local/etc/my.cnf"}},
		{"01-native", "file-link", []string{app + "/a"}, []string{"/usr/lib/x", home + "/.local/bin/claude"}},
		{"01-native", "file-search", nil, []string{"/"}},
		{"01-native", "file-read-metadata", []string{"/opt", "/opt/homebrew", "/opt/homebrew/etc/openssl@3", home, "/Library/Preferences"},
			[]string{home + "/.ssh", home + "/code/other"}},
		{"01-native", "lsopen", nil, []string{""}},
		{"01-native", "job-creation", nil, []string{""}},
		{"01-native", "appleevent-send", nil, []string{""}},
		{"01-native", "signal", nil, []string{""}},
		{"01-native", "mach-priv-task-port", nil, []string{""}},
		{"01-native", "process-info-pidinfo", nil, []string{""}},
		{"01-native", "mach-lookup", []string{"com.apple.trustd.agent", "com.apple.dnssd.service"},
			[]string{"com.apple.coreservices.launchservicesd", "com.apple.coreservices.quarantine-resolver", "com.apple.coreservices.appleevents", "com.apple.xpc.smd"}},
		{"01-native", "process-exec", []string{"/bin/ps", "/usr/bin/top", "/bin/zsh"}, []string{"/usr/bin/sudo", "/usr/bin/crontab"}},
		{"01-native", "network-outbound", []string{"example.com:443", "/private/tmp/s.sock"},
			[]string{home + "/Library/Application Support/relay-host/state/host.sock"}},
		{"08-model-network", "network-outbound", []string{"localhost:49200", home + "/run/agent.sock"},
			[]string{"localhost:22", "example.com:443", "/private/var/run/mDNSResponder"}},
		{"13-no-network", "network-outbound", nil, []string{"localhost:49200", "localhost:22", "example.com:443", "/private/var/run/mDNSResponder"}},
		{"08-model-network", "mach-lookup", []string{"com.apple.trustd.agent", "com.apple.logd"},
			[]string{"com.apple.dnssd.service", "com.apple.nsurlsessiond", "com.apple.SecurityServer", "com.apple.coreservices.launchservicesd"}},
		{"02-template", "file-write-data",
			[]string{home + "/.claude.json", home + "/.claude.json.lock", home + "/.claude.json.tmp.12", home + "/.claude.json.backup"},
			[]string{home + "/.claude.json.tmp.1/x", home + "/.claude.json.old", home + "/.claude-json", home + "/.gitconfig"}},
		{"11-private", "file-read-data",
			[]string{home + "/notes", home + "/.ssh/known_hosts", home + "/.aws/credentials", home + "/.zshrc", home + "/.config/git/config"},
			[]string{home + "/.ssh/id", home + "/.gnupg/x", home + "/Keys/gnupg/x", home + "/.config/gh/hosts.yml", home + "/.NPMRC",
				home + "/.config/git/credentials", home + "/Library/Keychains/login.keychain-db"}},
		{"11-private", "file-write-data",
			[]string{home + "/notes", home + "/.config/fish/conf.d/a", home + "/.config/git/config"},
			[]string{home + "/.aws/x", home + "/.zshrc", home + "/.BashRC", home + "/.config/fish/config.fish", home + "/.ssh/known_hosts",
				home + "/Library/LaunchAgents/x.plist", home + "/.config/git/credentials", home + "/.local/bin/ls", home + "/.gnupg"}},
		{"11-private", "file-write-unlink", []string{home + "/notes"}, []string{home + "/.config", home + "/Library", home}},
		{"12-terminal", "file-read-data",
			[]string{"/dev/ttys003", home, "/Users", home + "/code"}, []string{"/dev/ttys004", home + "/.ssh/id"}},
		{"12-terminal", "file-write-create",
			[]string{home + "/new", home + "/Übungen/ſ", home + "/deeper/ſ"}, []string{home + "/ſecret", home + "/SECRET", home + "/Neue Übung/x", temp + "/xcrun_db"}},
		{"12-terminal", "file-write-data", []string{temp + "/other"}, []string{temp + "/xcrun_db", temp + "/xcrun_db-Ab12"}},
	} {
		rules := parseRules(string(macProfile(t, c.session).Text))
		for want, list := range map[bool][]string{true: c.yes, false: c.no} {
			for _, on := range list {
				if judge(rules, c.op, on) != want {
					t.Errorf("%s: %s %q allowed: %v", c.session, c.op, on, !want)
				}
			}
		}
	}
}

// In no session of the lists is the pair's own readable, whatever a template grants.
func TestProfilesKeepSecrets(t *testing.T) {
	for _, c := range macSessions {
		rules := parseRules(string(macProfile(t, c.name).Text))
		spec := macSpec()
		c.spec(&spec)
		for _, path := range []string{spec.Private[0], "~/Library/Application Support/relay-host/state/audit.jsonl", "~/.config/relay/settings.json"} {
			path = strings.NewReplacer("~", "/Users/ann", "/tmp/", "/private/tmp/").Replace(path)
			for _, op := range []string{"file-read-data", "file-read-metadata", "file-write-data", "file-write-unlink", "file-link", "file-clone", "process-exec"} {
				if judge(rules, op, path) {
					t.Errorf("%s: %s of %s", c.name, op, path)
				}
			}
		}
		for _, op := range []string{"lsopen", "appleevent-send", "job-creation", "file-search", "mach-priv-task-port", "signal"} {
			if judge(rules, op, "") {
				t.Errorf("%s: %s", c.name, op)
			}
		}
		if spec.Network != "" && judge(rules, "mach-lookup", "com.apple.any") {
			t.Errorf("%s: any service", c.name)
		}
	}
}
