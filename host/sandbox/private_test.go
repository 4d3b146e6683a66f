package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestX16Places holds the table to what is promised: a grant of the home folder opens none of these places.
func TestX16Places(t *testing.T) {
	closed := strings.Fields(`.ssh .gnupg .aws .azure .kube .docker .config/gcloud .config/gh .netrc .git-credentials .config/git/credentials .npmrc .pypirc
		.cargo/credentials.toml .m2/settings.xml .password-store .local/share/keyrings .mozilla .config/google-chrome .config/chromium
		.claude/.credentials.json .codex/auth.json .gemini .bash_history .zsh_history`)
	readOnly := strings.Fields(`.profile .bash_profile .bash_login .bashrc .zshenv .zprofile .zshrc .zlogin .config/fish .config/git .gitconfig
		.config/systemd .config/autostart .local/bin`)
	home := linux
	for _, place := range append(slices.Clone(closed), readOnly...) {
		home = home.and(disk{"/home/ann/" + place: "dir"})
	}
	spec := linuxSpec()
	spec.ReadWrite = []string{"~"}
	got, _ := policy(t, home, spec)
	for _, list := range []struct {
		name        string
		want, given []string
	}{{"closed", closed, got.Private}, {"read-only", readOnly, got.ReadOnly}} {
		for _, place := range list.want {
			if !slices.Contains(list.given, "/home/ann/"+place) {
				t.Errorf("~/%s is not %s", place, list.name)
			}
		}
	}
	mac := mac.and(disk{"/Users/ann/Library/x": "dir"})
	spec = macSpec()
	spec.ReadWrite = []string{"~"}
	p, err := build(spec, mac.facts(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range append(closed, "Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/LaunchAgents", ".zshrc") {
		if !strings.Contains(string(p.Text), `"/Users/ann/`+place+`"`) {
			t.Errorf("macOS: ~/%s is not closed", place)
		}
	}
}
