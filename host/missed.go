package host

import (
	"path/filepath"
	"slices"
	"strings"

	"hostshim/shim"
)

// runners start other programs.
var runners = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "make", "gmake", "ninja", "just", "env", "timeout", "nice", "xargs", "time",
	"python", "python3", "node", "npx", "uv",
}

// configured are files of the home folder that programs read. They do without a closed one, or fail, as they are made.
var configured = []struct {
	programs string
	project  string // one of a runner's working folder that has this counts as well
	files    string
}{
	{"git", ".git", "~/.gitconfig ~/.config/git/config ~/.git-credentials"},
	{"git ssh scp sftp rsync", "", "~/.ssh"},
	{"npm npx node pnpm yarn", "package.json", "~/.npmrc ~/.yarnrc ~/.yarnrc.yml"},
	{"cargo", "Cargo.toml", "~/.cargo/config.toml ~/.cargo/config ~/.cargo/credentials.toml"},
	{"mvn mvnw", "pom.xml", "~/.m2/settings.xml ~/.m2/settings-security.xml ~/.m2/toolchains.xml ~/.mavenrc"},
	{"gradle gradlew", "settings.gradle", "~/.gradle/gradle.properties ~/.gradle/init.gradle ~/.gradle/init.d"},
	{"pip pip3 uv", "requirements.txt", "~/.config/pip/pip.conf ~/.pip/pip.conf ~/.netrc"},
	{"pip pip3 uv", "pyproject.toml", "~/.config/pip/pip.conf ~/.pip/pip.conf ~/.netrc"},
	{"twine", "", "~/.pypirc"},
	{"bundle gem", "Gemfile", "~/.bundle/config ~/.gemrc ~/.gem/credentials"},
	{"go", "go.mod", "~/.config/go/env ~/.netrc"},
	{"docker podman", "", "~/.docker"},
	{"gh", "", "~/.config/gh"},
	{"aws", "", "~/.aws"},
	{"kubectl helm", "", "~/.kube"},
}

const maxMissed = 6 // places that are named

// missed lists what the sandbox is known to have kept from a target that failed (U03). The kernel tells what it refused to
// the privileged alone, so this is what the plan knows of: what such a program reads, and was closed.
func (p *Plan) missed(end End) []string {
	if p.profile == nil || !end.failed() {
		return nil
	}
	e, program := toolEnv{plan: p, home: HomeFolder()}, filepath.Base(p.argv[0])
	if end.Status == shim.ExitNotFound || end.Status == shim.ExitCannotStart {
		return firstOf(e.closedPath(), maxMissed)
	}
	if program == "git" && end.Status < 128 {
		return nil // a difference, nothing found
	}
	var list []string
	for _, c := range configured {
		runs := c.project != "" && slices.Contains(runners, program) && isThere(filepath.Join(p.request.Directory, c.project))
		if !runs && !slices.Contains(strings.Fields(c.programs), program) {
			continue
		}
		list = append(list, slices.DeleteFunc(strings.Fields(c.files), func(file string) bool {
			return slices.Contains(list, file) || !e.closed(file)
		})...)
		if c.project == ".git" {
			list = append(list, p.profile.Unread...)
		}
	}
	return firstOf(list, maxMissed)
}

// failed says whether the target ended with a status of its own that is not 0. A shell has 128 and a signal for what a
// person ended.
func (e End) failed() bool {
	return e.Status != 0 && e.Signal == 0 && (e.Status <= 128 || e.Status == 255)
}

// closedPath lists folders of PATH: a shell that found no program, or could not start it, may have meant one in there.
func (e *toolEnv) closedPath() (list []string) {
	for _, dir := range filepath.SplitList(lookup(e.plan.env, "PATH")) {
		if filepath.IsAbs(dir) && e.closed(dir) && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}
