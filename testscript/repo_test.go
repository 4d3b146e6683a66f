package testscript

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	ruleRow    = regexp.MustCompile(`(?m)^\|\s*([A-Z]\d\d)\s*\|\s*(.*?)\s*\|\s*([^|]*?)\s*\|\s*$`)
	scriptName = regexp.MustCompile(`([a-z]\d\d-[\w.-]+)\.txtar`)
)

// TestRuleList holds docs/rules.md and the scripts to each other: a row for each rule, `| S01 | text | scripts |`,
// that names each of its scripts and no other.
func TestRuleList(t *testing.T) {
	named := map[string]string{} // script to rule
	rules := map[string]bool{}
	for _, row := range ruleRow.FindAllStringSubmatch(readFile(t, "../docs/rules.md"), -1) {
		id, text := row[1], row[2]
		if rules[id] || text == "" {
			t.Errorf("docs/rules.md: rule %s stands twice, or has no text", id)
		}
		rules[id] = true
		for _, script := range scriptName.FindAllStringSubmatch(row[3], -1) {
			named[script[1]] = id
		}
	}
	if len(rules) == 0 {
		t.Fatal("docs/rules.md has no row | S01 | text | scripts |")
	}
	paths, err := filepath.Glob("rules/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		id, _, _ := strings.Cut(strings.ToUpper(name), "-")
		tried[id] = true
		switch {
		case !rules[id]:
			t.Errorf("%s names no rule of docs/rules.md", path)
		case named[name] != id:
			t.Errorf("docs/rules.md: the row of %s does not name %s.txtar", id, name)
		}
		delete(named, name)
	}
	for script := range named {
		t.Errorf("docs/rules.md names %s.txtar, which is not there", script)
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		if !tried[id] {
			t.Errorf("rule %s has no script", id)
		}
	}
}

// TestReadme holds README.md to the table of commands.
func TestReadme(t *testing.T) {
	text := readFile(t, "README.md")
	for name, cmd := range commands {
		if usage := "`" + strings.TrimSpace(name+" "+cmd.usage) + "`"; !strings.Contains(text, usage) {
			t.Errorf("README.md lacks %s", usage)
		}
	}
}

// mayImport is the direction of imports: what each package may use of this module.
var mayImport = map[string][]string{
	"cmd/host": {"host", "host/client", "host/credential", "host/doctor", "host/server", "host/settings", "host/state", "host/wire", "shim"},
	"cmd/shim": {"shim"},

	"cmd/dist/man": {"shim"},

	"host/server": {"host", "host/credential", "host/descriptors", "host/llmproxy", "host/settings", "host/state", "host/wire", "shim"},
	"host/doctor": {"host", "host/credential", "host/sandbox", "host/settings", "host/state", "host/wire", "shim"},
	"host/client": {"host/credential", "host/state", "host/wire"},

	"host": {"host/credential", "host/llmproxy", "host/protect", "host/reach", "host/sandbox", "host/settings", "host/state", "host/wire", "shim"},

	"host/settings":    {"host/credential", "host/reach", "host/wire", "shim"},
	"host/state":       {"host/credential", "host/wire", "shim"},
	"host/llmproxy":    {"host/credential", "host/descriptors", "host/reach", "shim"},
	"host/sandbox":     {"shim"},
	"host/protect":     {},
	"host/reach":       {},
	"host/credential":  {"shim"},
	"host/descriptors": {},
	"host/wire":        {},
	"shim":             {},
}

func goList(t *testing.T, goos string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	return string(out)
}

func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		list := goList(t, goos, "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`, "./...")
		for _, line := range strings.Split(strings.TrimSpace(list), "\n") {
			words := strings.Fields(line)
			from, ok := strings.CutPrefix(words[0], "hostshim/")
			allowed, known := mayImport[from]
			if inTests := strings.HasPrefix(from, "testscript"); !ok || !known && !inTests {
				t.Errorf("%s: a package that the design does not name", words[0])
			}
			for _, path := range words[1:] {
				if to, own := strings.CutPrefix(path, "hostshim/"); own && to != from && !slices.Contains(allowed, to) {
					t.Errorf("%s: %s imports %s", goos, from, to)
				}
			}
		}
		for _, path := range strings.Fields(goList(t, goos, "-deps", "./cmd/shim")) {
			if slices.Contains([]string{"net", "net/http", "regexp", "text/template", "log/slog"}, path) || strings.HasPrefix(path, "hostshim/host") {
				t.Errorf("%s: the shim depends on %s", goos, path)
			}
		}
	}
}

func TestOneRequirement(t *testing.T) {
	const only = "golang.org/x/sys"
	required := regexp.MustCompile(`(?m)^(?:require\s+|\t)([\w.-]+\.[a-z]+/\S+)\s+v`).FindAllStringSubmatch(readFile(t, "../go.mod"), -1)
	if len(required) != 1 || required[0][1] != only {
		t.Errorf("go.mod requires %v, want %s alone", required, only)
	}
	for _, line := range strings.Split(strings.TrimSpace(readFile(t, "../go.sum")), "\n") {
		if !strings.HasPrefix(line, only+" ") {
			t.Errorf("go.sum: %s", line)
		}
	}
}

var (
	anyFlag = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)
	// A line that explains a flag or a command begins with it: in a usage text after two blanks, in a man page
	// after marks of emphasis, a list or a heading.
	helpLine    = regexp.MustCompile(`(?m)^  (--[a-z].*)$`)
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z]+)  `)
	manLine     = regexp.MustCompile("(?m)^[ >*`#|:]*(?:- )?[*`_]*(--[a-z].*)$")
	manCommand  = regexp.MustCompile("(?m)^[ >*`#|:]*(?:- )?[*`_]*host ([a-z]+)")
)

// explained are the flags that begin a line; several may share one, `--help, --version`.
func explained(lines [][]string) map[string]bool {
	flags := map[string]bool{}
	for _, line := range lines {
		for {
			flag := anyFlag.FindString(line[1])
			flags[flag] = true
			rest := strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(line[1], "*`_"), flag), "*`_")
			next, more := strings.CutPrefix(rest, ", ")
			next = strings.TrimLeft(next, "*`_")
			if !more || !strings.HasPrefix(next, "--") {
				break
			}
			line[1] = next
		}
	}
	return flags
}

// help is a program's usage text with those of all its commands.
func help(t *testing.T, name string, words ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(binDir, name), append(words, "--help")...).Output()
	if err != nil {
		t.Fatalf("%s %v --help: %v", name, words, err)
	}
	text := string(out)
	for _, c := range helpCommand.FindAllStringSubmatch(string(out), -1) {
		text += help(t, name, append(slices.Clone(words), c[1])...)
	}
	return text
}

func TestManPages(t *testing.T) {
	for _, name := range []string{"shim", "host"} {
		t.Run(name, func(t *testing.T) {
			page, usage := readFile(t, "../docs/"+name+".1.md"), help(t, name)
			inPage := map[string]bool{}
			for _, flag := range anyFlag.FindAllString(page, -1) {
				inPage[flag] = true
			}
			inUsage := explained(helpLine.FindAllStringSubmatch(usage, -1))
			for flag := range inUsage {
				if !inPage[flag] {
					t.Errorf("docs/%s.1.md does not name %s", name, flag)
				}
			}
			for flag := range explained(manLine.FindAllStringSubmatch(page, -1)) {
				if !inUsage[flag] {
					t.Errorf("docs/%s.1.md explains %s, which %s --help does not", name, flag, name)
				}
			}
			sameCommands(t, name, page, usage)
		})
	}
}

func sameCommands(t *testing.T, name, page, usage string) {
	known := map[string]bool{}
	for _, c := range helpCommand.FindAllStringSubmatch(usage, -1) {
		known[c[1]] = true
		if !regexp.MustCompile(`\b` + c[1] + `\b`).MatchString(page) {
			t.Errorf("docs/%s.1.md does not name the command %s", name, c[1])
		}
	}
	for _, c := range manCommand.FindAllStringSubmatch(page, -1) {
		if name == "host" && !known[c[1]] {
			t.Errorf("docs/host.1.md explains %q, which host --help does not list", "host "+c[1])
		}
	}
}
