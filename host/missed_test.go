package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hostshim/host/sandbox"
)

// Every program is known by its own files, and a runner by its project's: each row of the table has one here.
func TestU03EveryProgramsFiles(t *testing.T) {
	for _, c := range []struct{ programs, project, files string }{
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
	} {
		home, work, project, files := t.TempDir(), t.TempDir(), t.TempDir(), strings.Fields(c.files)
		t.Setenv("HOME", home)
		for _, path := range append([]string{filepath.Join(project, c.project, "x")}, files...) {
			path = strings.Replace(path, "~", home, 1)
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		profile, err := sandbox.Build(sandbox.Spec{GOOS: runtime.GOOS, Home: home, WorkDir: work, TempDir: work})
		if err != nil {
			t.Fatal(err)
		}
		check := func(program, dir string, want []string) {
			p := &Plan{profile: profile, argv: []string{program}, request: &Request{Directory: dir}}
			if got := p.missed(End{Status: 128}); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", program, got, want)
			}
		}
		for _, program := range strings.Fields(c.programs) {
			check(program, work, files)
		}
		check("make", work, nil)
		if c.project != "" {
			check("make", project, files)
		}
	}
}
