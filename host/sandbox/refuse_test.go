package sandbox

import (
	"testing"

	"hostshim/shim"
)

// What a launch is refused for, and the exact words: the entry and the reason.
var refusals = []struct {
	name string
	spec func(*Spec)
	want string
}{
	{"system", func(s *Spec) { s.GOOS = "plan9" }, `no sandbox for system "plan9"`},
	{"network", func(s *Spec) { s.Network = "closed" }, `network "closed", want "open", "model" or "none"`},
	{"working directory missing", func(s *Spec) { s.WorkDir = "/srv/none" }, `working directory "/srv/none": no such file or directory`},
	{"working directory a file", func(s *Spec) { s.WorkDir = "/home/ann/.ssh/id" }, `working directory "/home/ann/.ssh/id": not a directory`},
	{"working directory /", func(s *Spec) { s.WorkDir = "/" }, `working directory "/": the whole file system is never granted`},
	{"temporary directory", func(s *Spec) { s.TempDir = "tmp" }, `temporary directory "tmp": neither absolute nor starting with ~/`},
	{"read round", func(s *Spec) { s.Read = []string{"~/round"} }, `read "~/round": too many levels of symbolic links`},
	{"read relative", func(s *Spec) { s.Read = []string{"docs"} }, `read "docs": neither absolute nor starting with ~/`},
	{"read other home", func(s *Spec) { s.Read = []string{"~bob"} }, `read "~bob": neither absolute nor starting with ~/`},
	{"read empty", func(s *Spec) { s.Read = []string{""} }, `read "": empty`},
	{"read NUL", func(s *Spec) { s.Read = []string{"/a\x00b"} }, `read "/a\x00b": holds a NUL byte or is not UTF-8: no profile can name it`},
	{"read bytes", func(s *Spec) { s.Read = []string{"/a\xff"} }, `read "/a\xff": holds a NUL byte or is not UTF-8: no profile can name it`},
	{"read /", func(s *Spec) { s.Read = []string{"/"} }, `read "/": the whole file system is never granted`},
	{"read / behind a link", func(s *Spec) { s.Read = []string{"~/up"} }, `read "~/up": the whole file system is never granted`},
	{"read / by ..", func(s *Spec) { s.Read = []string{"/usr/.."} }, `read "/usr/..": the whole file system is never granted`},
	{"read through a file", func(s *Spec) { s.Read = []string{"~/.ssh/id/x"} }, `read "~/.ssh/id/x": not a directory`},
	{".. after a missing part", func(s *Spec) { s.Read = []string{"~/none/../.ssh"} }, `read "~/none/../.ssh": holds .. after a part that does not exist`},
	{"no home", func(s *Spec) { s.Home, s.Private, s.Read = "", nil, []string{"~/x"} }, `read "~/x": ~ cannot be expanded: no home directory`},
	{"/dev", func(s *Spec) { s.Read = []string{"/dev"} }, `read "/dev": never granted whole: it holds disks and other terminals; name single nodes`},
	{"a disk", func(s *Spec) { s.ReadWrite = []string{"/dev/sda"} }, `read_write "/dev/sda": a disk's raw content goes round every deny: never granted`},
	{"disks behind links", func(s *Spec) { s.Read = []string{"/dev/mapper"} }, `read "/dev/mapper": never granted whole: it holds disks and other terminals; name single nodes`},
	{"kernel", func(s *Spec) { s.ReadWrite = []string{"/sys/kernel"} }, `read_write "/sys/kernel": holds the kernel's own controls: never granted for writing`},
	{"turnable link", func(s *Spec) { s.ReadWrite = []string{"~/app/cache"} },
		`grant of "/home/ann/app/cache": the session could turn its link "/home/ann/app/cache", which lies in "/home/ann/app": name what the link leads to`},
	{"deny relative", func(s *Spec) { s.Deny = []string{"x"} }, `deny "x": neither absolute nor starting with ~/`},
	{"deny in /proc", func(s *Spec) { s.Deny = []string{"/proc/self"} }, `deny "/proc/self": entries of /proc come and go: deny /proc whole`},
	{"deny round", func(s *Spec) { s.Deny = []string{"/home/ann/round"} },
		`deny "/home/ann/round": too many levels of symbolic links`},
	{"deny through a user's link", func(s *Spec) { s.Deny = []string{"~/tok"} },
		`deny "~/tok": the link "/home/ann/tok" is in a folder that not only root can change: name what the link leads to`},
	{"token through a link in /tmp", func(s *Spec) { s.Private = []string{"/tmp/tok"} },
		`"/tmp/tok", which every session is denied: the link "/tmp/tok" is in a folder that not only root can change: name what the link leads to`},
	{"deny of all", func(s *Spec) { s.Deny = []string{"/"} }, `deny of "/" takes away the working directory "/home/ann/app"`},
	{"deny of the working directory", func(s *Spec) { s.Deny = []string{"~"} }, `deny of "/home/ann" takes away the working directory "/home/ann/app"`},
	{"deny of the temporary directory", func(s *Spec) { s.Deny = []string{"/tmp"} }, `deny of "/tmp" takes away the temporary directory "/tmp/relay-s1"`},
	{"deny of the program", func(s *Spec) { s.Deny = []string{"~/.local/share"} },
		`deny of "/home/ann/.local/share" takes away the target's program "/home/ann/.local/share/claude/versions/2.1.197"`},
	{"deny of a system program", func(s *Spec) { s.Program, s.Deny = "/bin/true", []string{"/usr/bin"} },
		`deny of "/usr/bin" takes away the target's program "/usr/bin/true"`},
	{"session in the state directory", func(s *Spec) { s.TempDir = "/home/ann/.local/state/relay-host/tmp" },
		`deny of "/home/ann/.local/state/relay-host" takes away the temporary directory "/home/ann/.local/state/relay-host/tmp"`},
}

// odd is what the refusals stumble over.
var odd = disk{
	"/home/ann/gone": "link nowhere", "/home/ann/round": "link round", "/root.d/link": "link real", "/root.d/real": "dir",
	"/home/ann/tok": "link secrets/token", "/tmp/tok": "link /home/ann/secrets/token",
	"/home/ann/app/cache": "link /home/ann/.ssh", "/home/ann/up": "link /",
}

func TestRefused(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			spec := linuxSpec()
			c.spec(&spec)
			p, err := build(spec, linux.and(odd).facts(false))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if p != nil {
				t.Error("a profile beside the error")
			}
		})
	}
	// As a node of Kubernetes mounts a secret: the folder is open to all, and read-only.
	t.Run("token through root's link on a read-only mount", func(t *testing.T) {
		spec := linuxSpec()
		spec.Private = []string{"/run/secret/token"}
		secret := disk{"/run/secret": "open dir", "/run/secret/token": "link ..data/token", "/run/secret/..data": "link ..2026",
			"/run/secret/..2026/token": "file"}
		if _, err := build(spec, linux.and(secret).facts(false)); err != nil {
			t.Error(err)
		}
	})
	t.Run("model network without a port", func(t *testing.T) {
		spec := macSpec()
		spec.Network = shim.NetworkModel
		if _, err := build(spec, mac.facts(true)); err == nil || err.Error() != `network "model": port 0 is none` {
			t.Error(err)
		}
	})
}
