package host

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// upstreamRoots are the certificates that the model proxy trusts: the system's, and those of the files that the host's own
// environment names. nil: the system's alone. A file that is no use is a warning, and so is one that a session could have
// written: whose certificates these are gets the credential.
func (b *Broker) upstreamRoots() *x509.CertPool {
	var pool *x509.CertPool
	for _, name := range certificateVars {
		path := os.Getenv(name)
		if info, err := os.Stat(path); path == "" || name == "SSL_CERT_DIR" || err == nil && info.IsDir() {
			continue // on Linux the system's are looked for in SSL_CERT_DIR already
		}
		data, err := b.certificates(path)
		if err == nil {
			if pool == nil {
				pool = systemRoots()
			}
			if !pool.AppendCertsFromPEM(data) {
				err = fmt.Errorf("it holds no certificate")
			}
		}
		if err != nil {
			b.warn(fmt.Sprintf("%s %q is not used for the model provider: %s", name, path, Reason(err)))
		}
	}
	return pool
}

// certificates reads a file of certificates.
func (b *Broker) certificates(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("it is not an absolute path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	granted, err := b.places.Granted()
	if err != nil {
		return nil, err
	}
	within := func(folder string) bool {
		return strings.HasPrefix(real, folder+"/") || strings.HasPrefix(path, folder+"/")
	}
	if slices.ContainsFunc(append(granted, "/dev/shm"), within) {
		return nil, fmt.Errorf("a session could have written it")
	}
	return readNamed(real)
}

func systemRoots() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return x509.NewCertPool()
	}
	return pool
}
