package host

import (
	"os"
	"path/filepath"
	"testing"

	"hostshim/host/sandbox"
)

func TestX19InspectFolder(t *testing.T) {
	const key, certificate = "-----BEGIN PRIVATE KEY-----\nx\n", "-----BEGIN CERTIFICATE-----\nx\n"
	for _, c := range []struct {
		name, file, text string
		kind             sandbox.NamedKind
		want             string
	}{
		{"hooks", "pre-commit", "#!/bin/sh\n", sandbox.NamedOther, ""},
		{"a key", "k", key, sandbox.NamedOther, "it holds a private key, k"},
		{"a key further down", "deep/er/k.pem", key, sandbox.NamedOther, "it holds a private key, k.pem"},
		{"certificates", "a.pem", certificate, sandbox.NamedCertificates, ""},
		{"no certificate", "notes.txt", "x", sandbox.NamedCertificates, "it holds no certificate"},
		{"too large to judge", "big", string(make([]byte, 5<<20)), sandbox.NamedOther, errTooLarge.Error()},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := inspectFolder(dir, c.kind); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
