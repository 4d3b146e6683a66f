package host

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"hostshim/host/sandbox"
)

// BenchmarkX19 is what a launch pays for looking at what a usual home names: git's configuration with an include, an
// ignore file and hooks, and one file of certificates.
func BenchmarkX19(b *testing.B) {
	home := b.TempDir()
	for name, text := range map[string]string{
		".gitconfig": "[include]\npath=~/work\n[core]\nexcludesFile=~/ignore\nhooksPath=~/hooks\n", "work": "[user]\nname=x\n", "ignore": "", "ca.pem": "",
	} {
		os.WriteFile(home+"/"+name, []byte(text), 0o600)
	}
	os.Mkdir(home+"/hooks", 0o700)
	os.Mkdir(home+"/work.d", 0o700)
	ca := make([]byte, 220<<10)
	copy(ca[len(ca)-40:], "-----BEGIN CERTIFICATE-----")
	os.WriteFile(home+"/ca.pem", ca, 0o600)
	for _, with := range []bool{false, true} {
		b.Run(map[bool]string{false: "without", true: "with"}[with], func(b *testing.B) {
			var before, after syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			for b.Loop() {
				spec := sandbox.Spec{GOOS: runtime.GOOS, Home: home, WorkDir: home + "/work.d", TempDir: home + "/tmp", ReadIfThere: []string{"~/.gitconfig"}}
				if with {
					p := &Plan{env: []string{"HOME=" + home, "NODE_EXTRA_CA_CERTS=" + home + "/ca.pem"}}
					p.named(&spec)
				}
				if _, err := sandbox.Build(spec); err != nil {
					b.Fatal(err)
				}
			}
			syscall.Getrusage(syscall.RUSAGE_SELF, &after) // processor time: what else runs here does not count
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/1000/float64(b.N), "cpu-µs/op")
		})
	}
}
