package settings

import (
	"os"
	"path/filepath"
	"slices"
)

// Cache is a variable that leads a tool to a folder which it writes, in place of one in the home folder (E06).
type Cache struct {
	Variable string
	Folder   string   // below the template's cache folder
	Usual    []string // where the tool writes otherwise: a template that grants one for writing means that one
	ReadOnly bool     // the usual place serves also where it can only be read
	Follows  string   // the variable that the place is derived from where this one is not set; "": it stands alone
	Own      bool     // the usual place is used if it is there at all: it holds programs
}

// Caches are the places of the tools that people build with. The user's own are never among them: the user runs what
// comes out of those.
var Caches = []Cache{
	{Variable: "XDG_CACHE_HOME", Folder: "xdg", Usual: []string{"~/.cache"}},
	{Variable: "XDG_STATE_HOME", Folder: "state", Usual: []string{"~/.local/state"}},
	{Variable: "GOPATH", Folder: "go", Usual: []string{"~/go"}},
	{Variable: "GOMODCACHE", Folder: "go/pkg/mod", Usual: []string{"~/go/pkg/mod"}, ReadOnly: true, Follows: "GOPATH"},
	{Variable: "GOBIN", Folder: "go/bin", Usual: []string{"~/go/bin"}, Follows: "GOPATH"},
	{Variable: "GOCACHE", Folder: "xdg/go-build", Usual: []string{"~/.cache/go-build", "~/Library/Caches/go-build"}, Follows: xdgCache},
	{Variable: "PIP_CACHE_DIR", Folder: "xdg/pip", Usual: []string{"~/.cache/pip", "~/Library/Caches/pip"}, Follows: xdgCache},
	{Variable: "UV_CACHE_DIR", Folder: "xdg/uv", Usual: []string{"~/.cache/uv"}, Follows: "XDG_CACHE_HOME"},
	{Variable: "npm_config_cache", Folder: "npm", Usual: []string{"~/.npm"}},
	{Variable: "PNPM_HOME", Folder: "pnpm", Usual: []string{"~/.local/share/pnpm", "~/Library/pnpm"}},
	{Variable: "YARN_GLOBAL_FOLDER", Folder: "yarn", Usual: []string{"~/.yarn"}},
	{Variable: "CARGO_HOME", Folder: "cargo", Usual: []string{"~/.cargo"}},
	{Variable: "RUSTUP_HOME", Folder: "rustup", Usual: []string{"~/.rustup"}, Own: true},
	{Variable: "GRADLE_USER_HOME", Folder: "gradle", Usual: []string{"~/.gradle"}},
	{Variable: "BUNDLE_USER_HOME", Folder: "bundle", Usual: []string{"~/.bundle"}},
}

// Maven's repository is no variable's, but a property of the Java machine.
var Maven = Cache{Folder: "m2", Usual: []string{"~/.m2/repository"}}

// Folders are variables that name a folder to write to. Without them a tool takes TMPDIR, or a place of the template's.
var Folders = []string{"TMP", "TEMP", "GOTMPDIR", "YARN_CACHE_FOLDER"}

// NodeFiles are files of the home folder at which yarn stops if one is there and cannot be read, whatever variables say:
// it looks for them in each folder from the project up.
var NodeFiles = []string{
	"~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", "~/.yarn/config", "~/.config/yarn", "~/.config/yarn/config",
}

// toolchains are the programs that people install in their home folder, which a built-in template reads: without them a
// tool that PATH names would not start. Each part is named, since other parts of such folders hold credentials, or
// sources that are nobody else's business.
var toolchains = []struct {
	variable, folder string
	parts            []string
}{
	{"RUSTUP_HOME", "~/.rustup", []string{"settings.toml", "toolchains/"}},
	{"CARGO_HOME", "~/.cargo", []string{"bin/"}},
	{"GOPATH", "~/go", []string{"bin/"}},
	{"NVM_DIR", "~/.nvm", []string{"nvm.sh", "alias/", "versions/"}},
	{"FNM_DIR", "~/.local/share/fnm", []string{"aliases/", "node-versions/"}},
	{"VOLTA_HOME", "~/.volta", []string{"bin/", "tools/"}},
	{"BUN_INSTALL", "~/.bun", []string{"bin/", "install/global/"}},
	{"DENO_INSTALL", "~/.deno", []string{"bin/"}},
	{"PYENV_ROOT", "~/.pyenv", []string{"bin/", "completions/", "libexec/", "plugins/", "pyenv.d/", "shims/", "version", "versions/"}},
	{"RBENV_ROOT", "~/.rbenv", []string{"bin/", "libexec/", "plugins/", "shims/", "version", "versions/"}},
	{"ASDF_DATA_DIR", "~/.asdf", []string{"asdf.sh", "bin/", "installs/", "lib/", "plugins/", "shims/"}},
	{"MISE_DATA_DIR", "~/.local/share/mise", []string{"installs/", "shims/"}},
	{"SDKMAN_DIR", "~/.sdkman", []string{"candidates/"}},
	{"", "~/.local/share/uv", []string{"python/", "tools/"}},
	{"PIPX_HOME", "~/.local/share/pipx", []string{"venvs/"}},
}

// readsIfThere is what a built-in template reads of the home folder, where it is there.
func readsIfThere() []string {
	paths := slices.Grow(gitConfig(), 64)
	for _, t := range toolchains {
		folder := t.folder
		if named := os.Getenv(t.variable); filepath.IsAbs(named) {
			folder = named
		}
		for _, part := range t.parts {
			paths = append(paths, folder+"/"+part)
		}
	}
	return slices.Clip(paths) // the templates share it
}
