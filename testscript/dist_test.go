package testscript

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inRepo runs a command in the source's folder.
func inRepo(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = repository, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// under lists the files below a folder.
func under(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestInstall holds that what make install brings works under the names that it gets, that the man pages are ones, and that
// make uninstall removes all of it (U05).
func TestInstall(t *testing.T) {
	root := t.TempDir()
	env := []string{"DESTDIR=" + root, "PREFIX=/usr/local", "PROGRAM_PREFIX=relay-", "BIN=" + binDir}
	inRepo(t, env, "sh", "cmd/dist/install.sh", "install")
	share := "/usr/local/share/"
	want := []string{"/usr/local/bin/relay-host", "/usr/local/bin/relay-shim", share + "bash-completion/completions/relay-host",
		share + "fish/vendor_completions.d/relay-host.fish", share + "man/man1/relay-host.1", share + "man/man1/relay-shim.1",
		share + "zsh/site-functions/_relay-host"}
	if got := under(t, root); !slices.Equal(got, want) {
		t.Errorf("installed %q", got)
	}
	if got := inRepo(t, nil, root+want[0], "version"); !strings.Contains(got, "host ") {
		t.Errorf("version: %q", got)
	}
	if got := readFile(t, root+want[2]); !strings.Contains(got, "complete -o default -F _relay_host relay-host") {
		t.Errorf("completion of another name: %s", got)
	}
	for _, page := range want[4:6] {
		text := readFile(t, root+page)
		if !strings.Contains(text, ".SH SYNOPSIS\n") || !strings.Contains(text, "relay\\-host") {
			t.Errorf("%s: no page of the installed names", page)
		}
		checkPage(t, root+page)
	}
	inRepo(t, env, "sh", "cmd/dist/install.sh", "uninstall")
	if left := under(t, root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestInstallPrefix holds what make install says to people: where things went and what is left to do, or why it did nothing.
func TestInstallPrefix(t *testing.T) {
	home := t.TempDir()
	root := home + "/.local"
	for prefix, want := range map[string]string{
		"~/.local": "\nfor your shell's start-up file: export PATH=" + root + "/bin:$PATH\n" +
			"zsh needs, before compinit: fpath=(" + root + "/share/zsh/site-functions $fpath)\n",
		root:      "installed: " + root + "/bin/host and " + root + "/bin/shim,",
		"x":       "install.sh: error: PREFIX \"x\" is not absolute\nstatus 2\n",
		"~root/x": "install.sh: error: PREFIX \"~root/x\" is not absolute\nstatus 2\n",
		// A file is where a folder has to be: that stops root too.
		root + "/bin/host": "install.sh: error: no permission below " + root + "/bin/host: make install PREFIX=$HOME/.local, or sudo\nstatus 2\n",
	} {
		os.MkdirAll(root+"/bin", 0o755)
		os.WriteFile(root+"/bin/host", nil, 0o755)
		env := []string{"HOME=" + home, "DESTDIR=", "PREFIX=" + prefix, "PROGRAM_PREFIX=", "BIN=" + binDir, "GO=true"} // no pages
		got := inRepo(t, env, "sh", "-c", "sh cmd/dist/install.sh install 2>&1 || echo status $?")
		if !strings.Contains(got, want) {
			t.Errorf("PREFIX=%s: %s", prefix, got)
		}
		on := append(env, "PATH="+root+"/bin:"+os.Getenv("PATH"))
		if got := inRepo(t, on, "sh", "-c", "sh cmd/dist/install.sh install 2>&1 || true"); strings.Contains(got, "export PATH") {
			t.Errorf("PREFIX=%s, in PATH: %s", prefix, got)
		}
		got = inRepo(t, env, "sh", "-c", "sh cmd/dist/install.sh uninstall 2>&1 || echo status $?")
		if refused := strings.Contains(want, "absolute"); refused != strings.Contains(got, want) {
			t.Errorf("PREFIX=%s, uninstall: %s", prefix, got)
		}
		if _, err := os.Stat(root + "/bin/shim"); err == nil {
			t.Errorf("PREFIX=%s: not removed", prefix)
		}
	}
}

// checkPage has the system's own tools say what is wrong with a man page, where they are there.
func checkPage(t *testing.T, page string) {
	if _, err := exec.LookPath("groff"); err == nil {
		for _, device := range []string{"-Tutf8", "-Tascii"} { // the second is that of LC_ALL=C
			if got := inRepo(t, nil, "groff", "-t", "-man", device, "-Kutf8", "-ww", "-rLL=80n", "-z", page); got != "" {
				t.Errorf("%s: groff: %s", page, got)
			}
		}
	}
	if _, err := exec.LookPath("mandoc"); err == nil {
		if got := inRepo(t, nil, "mandoc", "-T", "lint", "-W", "warning", page); got != "" {
			t.Errorf("%s: mandoc: %s", page, got)
		}
	}
}

// TestDist holds that what make dist makes is complete, and that the Debian package installs, runs and goes again in a root
// that holds nothing else (U05). It builds for four systems, hence long.
func TestDist(t *testing.T) {
	if slow == "" {
		t.Skip("make tools tries it")
	}
	out := t.TempDir()
	inRepo(t, nil, "sh", "cmd/dist/dist.sh", out)
	sums := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	sums.Dir = out
	if text, err := sums.CombinedOutput(); err != nil || strings.Count(string(text), ": OK") < 4 {
		t.Errorf("%v\n%s", err, text)
	}
	archives, _ := filepath.Glob(out + "/*.tar.gz")
	if len(archives) != 4 {
		t.Fatalf("archives: %q", archives)
	}
	for _, a := range archives {
		list := inRepo(t, nil, "tar", "-tzf", a)
		for _, want := range []string{"/bin/host\n", "/bin/shim\n", "/share/man/man1/host.1\n", "/share/doc/hostshim/README.md\n"} {
			if !strings.Contains(list, want) {
				t.Errorf("%s holds no %s", a, want)
			}
		}
	}
	debs, _ := filepath.Glob(out + "/*_amd64.deb")
	if _, err := exec.LookPath("dpkg"); err != nil || os.Getuid() != 0 || len(debs) != 1 {
		t.Skip("no dpkg, or not root: the package is not tried")
	}
	tryPackage(t, debs[0])
}

// tryPackage installs a package into a root that holds nothing, runs its program there, and removes it again.
func tryPackage(t *testing.T, deb string) {
	clean := t.TempDir()
	for _, dir := range []string{"updates", "info"} {
		os.MkdirAll(clean+"/var/lib/dpkg/"+dir, 0o755)
	}
	for _, file := range []string{"status", "available"} {
		os.WriteFile(clean+"/var/lib/dpkg/"+file, nil, 0o644)
	}
	before := under(t, clean)
	inRepo(t, nil, "dpkg", "--root="+clean, "--force-architecture", "--install", deb)
	if got := inRepo(t, nil, "chroot", clean, "/usr/bin/relay-host", "version"); !strings.HasPrefix(got, "host ") {
		t.Errorf("version in the clean root: %q", got)
	}
	if text, err := exec.Command("dpkg", "--root="+clean, "--verify", "hostshim").CombinedOutput(); err != nil || len(text) > 0 {
		t.Errorf("dpkg --verify: %v\n%s", err, text)
	}
	inRepo(t, nil, "dpkg", "--root="+clean, "--purge", "hostshim")
	for _, file := range under(t, clean) {
		if !slices.Contains(before, file) && !strings.HasPrefix(file, "/var/lib/dpkg/") && !strings.HasPrefix(file, "/var/log/") {
			t.Errorf("left: %s", file)
		}
	}
}
