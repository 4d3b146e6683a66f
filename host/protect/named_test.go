package protect

import (
	"slices"
	"testing"
)

func TestX19GitNames(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Named
	}{
		{"[include]\npath=a\n[includeIf \"gitdir:~/w/\"]\npath = ../b", []Named{{"include.path", "/h/a", true}, {"includeif.gitdir:~/w/.path", "/b", true}}},
		{"[core]\nexcludesFile = ~/i\nattributesFile=/a\nhooksPath=hooks", []Named{{"core.excludesfile", "~/i", false}, {"core.attributesfile", "/a", false}}},
		{"[http \"https://x.example\"]\nsslCAInfo=/c\nsslKey=/k\nsslCert=/s\ncookieFile=/j", []Named{{"http.https://x.example.sslcainfo", "/c", false}}},
		{"[gpg \"ssh\"]\nallowedSignersFile=~/s\nprogram=/p\n[fetch \"fsck\"]\nskipList=/l", []Named{{"gpg.ssh.allowedsignersfile", "~/s", false}, {"fetch.fsck.skiplist", "/l", false}}},
		{"[credential]\nhelper=store --file /x\n[user]\nsigningKey=/k\n[sendemail]\naliasesFile=/m", nil},
		{"[core]\nexcludesFile=:(optional)/o\nattributesFile=~other/x\nexcludesFile=%(prefix)/x\nexcludesFile\n[commit]\ntemplate=", []Named{{"core.excludesfile", "/o", false}}},
		{"[include]\npath=~/x\npath=\n", []Named{{"include.path", "~/x", true}}},
	} {
		if got, err := GitNames("/h/.gitconfig", []byte(c.text)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	if got, err := GitNames("/h/c", []byte("[include]\npath=/a\n[")); err == nil || len(got) != 1 {
		t.Errorf("a file that git stops at: %v, %v", got, err)
	}
}
