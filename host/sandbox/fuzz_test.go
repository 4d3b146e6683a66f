package sandbox

import (
	"slices"
	"strings"
	"testing"

	"hostshim/shim"
)

// FuzzBuild: whatever is asked for, a profile is refused or says what it must. On Linux every path in it is
// real, everything denied is listed, nothing granted lies in what is denied; on macOS no path breaks out of
// its string. Entries are lists with one entry a line.
func FuzzBuild(f *testing.F) {
	f.Add("~/a\n/etc/x", "~/new/dir\n~/.claude.json", "~/app/.env\n/tmp/../etc", "/root.d/link/t", "/home/ann/app", "/home/ann/.local/bin/claude")
	f.Add("/x/..", "~", "~/secrets/token", "~/none/a/b", "/home/ann/app/", "/srv/run")
	f.Add("~/up", "~/round\n~//a/./b", "/", "/proc/self/root/x", "/", "/srv/none")
	f.Add("/bin", "/dev/pts", "/lib/x", "/home/ann/.ssh/id/x", "/srv", "/usr/bin/python3")
	more := disk{
		"/home/ann/up": "link /", "/home/ann/round": "link round", "/home/ann/a": "link app/../.ssh",
		"/root.d/link": "link ../srv", "/srv/run": "#!/usr/bin/env -S python3 -x", "/root.d/a\nb": "dir",
	}
	onLinux, onMac := linux.and(more), mac.and(more)
	f.Fuzz(func(t *testing.T, read, write, deny, private, work, program string) {
		spec := Spec{
			GOOS: "linux", Home: "/home/ann", WorkDir: work, TempDir: "/tmp/t", Program: program, Path: "/usr/bin",
			Read: lines(read), ReadWrite: lines(write), Deny: lines(deny), Private: lines(private),
		}
		if p, err := build(spec, onLinux.facts(false)); err == nil {
			checkPolicy(t, spec, onLinux, p)
		}
		spec.GOOS = "darwin"
		if p, err := build(spec, onMac.facts(true)); err == nil {
			if bad := parseSBPL(string(p.Text)); bad != "" {
				t.Errorf("%s\n%s", bad, p.Text)
			}
		}
	})
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func checkPolicy(t *testing.T, spec Spec, d disk, p *Profile) {
	policy, err := shim.ParsePolicy(p.Text)
	if err != nil {
		t.Fatalf("the shim would refuse the profile: %v\n%s", err, p.Text)
	}
	b := &builder{spec: spec, sys: d.facts(false)}
	for _, entry := range slices.Concat(spec.Deny, spec.Private) {
		at, err := b.locate(entry)
		if err != nil || !slices.Contains(policy.Deny, at.real) {
			t.Errorf("denied %q is at %q, %v, which the policy does not deny: %q", entry, at.real, err, policy.Deny)
		}
		for _, granted := range slices.Concat(policy.Read, policy.ReadWrite, policy.Devices) {
			if within(granted, at.real) {
				t.Errorf("%q is granted inside %q, which is denied", granted, at.real)
			}
		}
	}
	for _, granted := range slices.Concat(policy.Read, policy.ReadWrite) {
		for place, list := range map[string][]string{"/home/ann/.ssh": policy.Private, "/home/ann/.local/bin": policy.ReadOnly} {
			if below(place, granted) && !slices.Contains(list, place) {
				t.Errorf("%q is granted, and %q in it is no private place: %s", granted, place, p.Text)
			}
		}
	}
	for _, path := range slices.Concat(policy.Read, policy.ReadWrite, policy.Devices) {
		if path == "/" || path == "/dev" {
			t.Errorf("%q is granted", path)
		}
		for dir := path; dir != "/"; dir = dir[:max(strings.LastIndexByte(dir, '/'), 1)] {
			if strings.HasPrefix(d[dir], "link ") {
				t.Errorf("granted %q passes the link %q", path, dir)
			}
			if strings.LastIndexByte(dir, '/') == 0 {
				break
			}
		}
	}
}

// FuzzEnvCommand: the command of an interpreter line is a word of it, or nothing; no option and no assignment.
func FuzzEnvCommand(f *testing.F) {
	for _, line := range []string{"python3", "-S python3 -x", "-u X A=b node", "--split-string=node -x", "-C", "-i -"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := envCommand(strings.Fields(line))
		if !strings.Contains(line, got) || strings.HasPrefix(got, "-") || strings.Contains(got, "=") {
			t.Errorf("%q: %q", line, got)
		}
	})
}
