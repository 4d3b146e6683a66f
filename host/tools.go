package host

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostshim/host/settings"
)

// planTools leads the tools that a session runs to folders that it can write, and past configuration files that it cannot
// read (E06). What the template and the request say stays; what the host's environment says stays where the session can
// use it.
func (h *Host) planTools(p *Plan, t settings.Template) {
	if p.profile == nil {
		return
	}
	env := toolEnv{plan: p, home: HomeFolder()}
	env.set = func(name string) bool {
		same := func(other string) bool { return strings.EqualFold(other, name) } // npm reads its variables in either case
		return slices.ContainsFunc(slices.Concat(keys(t.Env), keys(p.request.Env)), same)
	}
	for _, c := range settings.Caches {
		env.put(c.Variable, env.cache(c))
	}
	for _, name := range settings.Folders {
		if value := lookup(p.env, name); value != "" && !env.writable(value) {
			env.put(name, "")
		}
	}
	env.git()
	env.node()
	env.cargo()
	env.java()
}

func keys(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

// toolEnv changes a planned environment.
type toolEnv struct {
	plan *Plan
	home string
	set  func(name string) bool // a variable that is the template's or the request's
}

// inHome is the place that path names. Without a home folder it is none.
func (e *toolEnv) inHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if e.home == "" {
			return ""
		}
		return filepath.Join(e.home, rest)
	}
	return path
}

// closed says whether path, in the home folder, is there and the session cannot read it.
func (e *toolEnv) closed(path string) bool {
	path = e.inHome(path)
	_, err := os.Stat(path)
	return path != "" && err == nil && !e.plan.profile.Opens(path, false)
}

// put sets a variable, or takes it away where value is "", unless it is the template's or the request's.
func (e *toolEnv) put(name, value string) {
	if name == "" || e.set(name) {
		return
	}
	e.plan.env = slices.DeleteFunc(e.plan.env, func(kv string) bool {
		other, _, _ := strings.Cut(kv, "=")
		return strings.EqualFold(other, name)
	})
	if value != "" {
		e.plan.env = append(e.plan.env, name+"="+value)
	}
}

// more sets a variable to what it is already and text, which the program reads last.
func (e *toolEnv) more(name, text string) {
	e.put(name, strings.TrimPrefix(lookup(e.plan.env, name)+" "+text, " "))
}

// cache is what to set a cache's variable to: what it says, if the session can write there; else the usual place if the
// template grants it; else the template's own. "" is nothing, since the place follows from another variable.
func (e *toolEnv) cache(c settings.Cache) string {
	value := lookup(e.plan.env, c.Variable)
	if value != "" && (c.Own || e.writable(value)) {
		return value
	}
	for _, usual := range c.Usual {
		path := e.inHome(usual)
		if path != "" && (e.plan.profile.Opens(path, !c.ReadOnly) || c.Own && isThere(path)) {
			return path
		}
	}
	if c.Follows != "" {
		return ""
	}
	return filepath.Join(e.plan.cache, c.Folder)
}

// writable says whether the session can write the folders that a variable lists.
func (e *toolEnv) writable(list string) bool {
	for _, path := range filepath.SplitList(list) {
		if !filepath.IsAbs(path) || !e.plan.profile.Opens(path, true) {
			return false
		}
	}
	return true
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// git stops at a configuration file that it cannot read. Without the closed ones it reads what is left.
func (e *toolEnv) git() {
	if lookup(e.plan.env, "GIT_CONFIG_GLOBAL") != "" {
		return
	}
	files := []string{filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), e.inHome("~/.config")), "git/config"), "~/.gitconfig"}
	open := slices.DeleteFunc(slices.Clone(files), e.closed)
	if len(open) == len(files) {
		return
	}
	file := filepath.Join(e.plan.temp, "gitconfig") // there is none
	for _, other := range open {
		if other = e.inHome(other); isThere(other) {
			file = other
		}
	}
	e.put("GIT_CONFIG_GLOBAL", file)
}

// node: npm and pnpm can be told of another file. yarn looks in the project's folder and each one above it, so it takes
// a module that node loads first.
func (e *toolEnv) node() {
	if e.closed("~/.npmrc") {
		e.put("npm_config_userconfig", filepath.Join(e.plan.temp, "npmrc")) // there is none
	}
	var paths []string
	for _, file := range settings.NodeFiles {
		if !e.closed(file) {
			continue
		}
		paths = append(paths, e.inHome(file))
		if real, err := filepath.EvalSymlinks(e.home); err == nil && real != e.home {
			paths = append(paths, filepath.Join(real, strings.TrimPrefix(file, "~/")))
		}
	}
	if len(paths) == 0 || e.set("NODE_OPTIONS") {
		return
	}
	list, err := json.Marshal(paths)
	if err != nil {
		return // a path is text
	}
	e.plan.preload = strings.Replace(preload, "PATHS", string(list), 1)
	e.more("NODE_OPTIONS", "--require="+quoted(e.plan.preloadFile()))
}

// preload has node read closed files as empty ones.
const preload = `// The host wrote this: these files of the home folder are closed here, and read as empty ones.
const fs = require('fs'), { resolve } = require('path')
const closed = PATHS
const lead = path => typeof path === 'string' && closed.includes(resolve(path)) ? '/dev/null' : path
for (const of of [fs, fs.promises])
  for (const name of ['open', 'openSync', 'readFile', 'readFileSync']) {
    const call = of[name]
    if (call) of[name] = function (path, ...rest) { return call.call(this, lead(path), ...rest) }
  }
require('module').syncBuiltinESMExports?.()
`

// preloadFile is where the module goes.
func (p *Plan) preloadFile() string { return filepath.Join(p.temp, "closed-files.js") }

// writePreload writes the module, where the session has one.
func (p *Plan) writePreload() error {
	if p.preload == "" {
		return nil
	}
	return os.WriteFile(p.preloadFile(), []byte(p.preload), 0o600)
}

// cargo reads the configuration in each folder from the project up, and stops at one that it cannot read. The variable is
// its own tests', for just this: it ends the search. It is set to the folder below the home folder.
func (e *toolEnv) cargo() {
	work, err := filepath.EvalSymlinks(e.plan.request.Directory)
	home, herr := filepath.EvalSymlinks(e.home)
	rest, below := strings.CutPrefix(work, home+"/")
	if err != nil || herr != nil || !below || !e.closed("~/.cargo/config.toml") && !e.closed("~/.cargo/config") {
		return
	}
	first, _, _ := strings.Cut(rest, "/")
	e.put("__CARGO_TEST_ROOT", filepath.Join(home, first))
}

// java: the Java machine asks no variable for its temporary folder or Maven's repository, only its options. The launcher
// tells each time on standard error that it picked these up, as it does of JAVA_TOOL_OPTIONS, which more programs read:
// so these, and only where there is a java.
func (e *toolEnv) java() {
	if e.closed("~/.mavenrc") {
		e.put("MAVEN_SKIP_RC", "1") // the shell that reads it stops
	}
	if !isThere(filepath.Join(lookup(e.plan.env, "JAVA_HOME"), "bin", "java")) && FindProgram("java", lookup(e.plan.env, "PATH"), e.plan.request.Directory) == "" {
		return
	}
	options := quoted("-Djava.io.tmpdir="+e.plan.temp) + " " + quoted("-Dmaven.repo.local="+e.cache(settings.Maven))
	if slices.ContainsFunc([]string{"~/.m2/settings.xml", "~/.m2/settings-security.xml", "~/.m2/toolchains.xml"}, e.closed) {
		options += " " + quoted("-Duser.home="+filepath.Join(e.plan.cache, "java"))
	}
	e.more("JDK_JAVA_OPTIONS", options)
}

// quoted is text as one word of NODE_OPTIONS and JDK_JAVA_OPTIONS.
func quoted(text string) string {
	if strings.ContainsAny(text, " \t") {
		return `"` + text + `"`
	}
	return text
}
