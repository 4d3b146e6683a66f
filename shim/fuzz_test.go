package shim

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Options that pass have a target, numbers that do not collide, and a session id that can name a file.
func FuzzParseOptions(f *testing.F) {
	for _, s := range []string{"-- a", "exec --pty -- a b", "--status-fd 3 --identity --session-id x -- a", "--pass-token=true\x00--\x00a", "--listener-fd 6 --sandbox-profile /p -- a", "--version"} {
		f.Add(strings.ReplaceAll(s, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		o, err := parseOptions(args)
		switch {
		case err != nil || o.help || o.version:
			return
		case len(o.target) == 0 || !slices.Contains(args, "--"):
			t.Errorf("%q: no target", args)
		case o.identity && (!ValidSessionID(o.sessionID) || o.statusFD == IdentityFD):
			t.Errorf("%q: identity with session %q, status %d", args, o.sessionID, o.statusFD)
		case o.passToken && o.statusFD == TokenFD, o.listener >= 0 && o.listener <= TokenFD:
			t.Errorf("%q: one number for two things", args)
		case o.profile != "" && !strings.HasPrefix(o.profile, "/"):
			t.Errorf("%q: profile %q", args, o.profile)
		}
	})
}

// Whatever comes through descriptor 3, only 64 lower-case hex characters and the end make a secret.
func FuzzSecret(f *testing.F) {
	f.Add([]byte(strings.Repeat("0a", 32)))
	f.Add([]byte(strings.Repeat("0a", 32) + "\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return // a pipe takes no more without a reader
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Skip(err)
		}
		defer r.Close()
		w.Write(data)
		w.Close()
		got, err := readToEnd(int(r.Fd()), SecretLen+1, time.Minute)
		if err != nil || len(got) > SecretLen+1 || !strings.HasPrefix(string(data), string(got)) {
			t.Fatalf("%q: read %q, %v", data, got, err)
		}
		if want := len(data) == SecretLen && strings.Trim(string(data), "0123456789abcdef") == ""; validSecret(got) != want {
			t.Errorf("%q: valid is %v", data, !want)
		}
	})
}
