//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// speak is a target that writes, and ends.
var speak = []string{"/bin/echo", "x"}

// contender is a way to run a program in a sandbox, and what `host run` is to reach beside it.
type contender struct {
	name string
	argv []string // before the program
	goal goal
}

func (c contender) of(target ...string) spec {
	return spec{argv: append(append([]string(nil), c.argv...), target...), env: os.Environ()}
}

// references are the sandboxes to measure against, from the least that runs a program to those that do equal work.
// The arguments of the equal are what Anthropic's sandbox-runtime passes to bubblewrap for a project and one file that is
// not to be read.
func (b *bench) references(t *table, h *home) (list []contender, err error) {
	bwrap, err := program("bwrap")
	if err != nil {
		return nil, t.orSkip("what bubblewrap takes", err)
	}
	least := []string{bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--"}
	equal := func(more ...string) []string {
		argv := []string{bwrap, "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--bind", b.project(), b.project(),
			"--ro-bind", "/dev/null", h.token, "--dev", "/dev", "--unshare-pid", "--unshare-user", "--cap-drop", "ALL"}
		return append(append(argv, more...), "--proc", "/proc", "--")
	}
	list = []contender{
		{"bwrap, the least", least, noGoal},
		{"bwrap, equal work", equal(), ratioAtMost(1.6)},
		{"the same, --unshare-net", equal("--unshare-net"), noGoal},
	}
	helper, err := b.seccompHelper()
	if err != nil {
		return list, t.orSkip("bubblewrap with its seccomp helper", err)
	}
	var more []string
	if os.Geteuid() == 0 {
		more = []string{"--cap-add", "CAP_SETFCAP"} // the helper makes a user namespace of its own, which maps root
	}
	return append(list, contender{"the same, its seccomp helper", append(equal(append(more, "--unshare-net")...), helper), ratioAtMost(1.0)}), nil
}

// sandboxPackage is where bench.sh puts the package from npm, beside the built programs.
const sandboxPackage = "sandbox-runtime/node_modules/@anthropic-ai/sandbox-runtime"

func (b *bench) seccompHelper() (string, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path := filepath.Join(b.built, sandboxPackage, "vendor/seccomp", arch, "apply-seccomp")
	if _, err := os.Stat(path); err != nil {
		return "", missing("the npm package @anthropic-ai/sandbox-runtime")
	}
	return path, nil
}

// sandboxRuntime is the command line of the whole sandbox, before the program.
func (b *bench) sandboxRuntime(h *home) ([]string, error) {
	cli := filepath.Join(b.built, sandboxPackage, "dist/cli.js")
	if _, err := os.Stat(cli); err != nil {
		return nil, missing("the npm package @anthropic-ai/sandbox-runtime")
	}
	for _, name := range []string{"node", "bwrap", "socat", "rg"} {
		if _, err := program(name); err != nil {
			return nil, err
		}
	}
	settings := filepath.Join(b.dir, "sandbox-runtime.json")
	text, err := json.Marshal(map[string]any{
		"network":    map[string]any{"allowedDomains": []string{}, "deniedDomains": []string{}},
		"filesystem": map[string]any{"denyRead": []string{h.token}, "allowWrite": []string{b.project()}, "denyWrite": []string{}},
	})
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, missing("node")
	}
	return []string{node, cli, "--settings", settings, "--"}, os.WriteFile(settings, text, 0o600)
}
