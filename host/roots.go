package host

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// upstreamRoots are the certificates that the model proxy trusts: the system's, and those of the files that the host's own
// environment names. nil: the system's alone. A file that is no use is a warning, and so is one that a session could have
// written: whose certificates these are gets the credential.
func (b *Broker) upstreamRoots() *x509.CertPool {
	var found [][]byte
	for _, name := range certificateVars {
		path := os.Getenv(name)
		if name == "SSL_CERT_DIR" {
			b.checkFolders(name, path)
		}
		if info, err := os.Stat(path); path == "" || name == "SSL_CERT_DIR" || err == nil && info.IsDir() {
			continue // on Linux the system's are looked for in SSL_CERT_DIR already
		}
		data, err := b.certificates(path)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(data) {
			err = fmt.Errorf("it holds no certificate")
		}
		if err == nil {
			found = append(found, data)
		} else {
			if name == "SSL_CERT_FILE" {
				os.Unsetenv(name) // crypto/x509 reads it by itself
			}
			b.warn(fmt.Sprintf("%s %q is not used for the model provider: %s", name, path, Reason(err)))
		}
	}
	if found == nil {
		return nil
	}
	pool := systemRoots() // once no variable leads it where a session could have written
	for _, data := range found {
		pool.AppendCertsFromPEM(data)
	}
	return pool
}

// checkFolders keeps crypto/x509 from reading SSL_CERT_DIR where a session could have written a folder that it names.
func (b *Broker) checkFolders(name, path string) {
	for _, dir := range filepath.SplitList(path) {
		if _, err := b.untouched(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			os.Unsetenv(name)
			b.warn(fmt.Sprintf("%s is not used for the model provider: %q: %s", name, dir, Reason(err)))
			return
		}
	}
}

// certificates reads a file of certificates.
func (b *Broker) certificates(path string) ([]byte, error) {
	real, err := b.untouched(path)
	if err != nil {
		return nil, err
	}
	return readNamed(real)
}

// untouched is where path leads, if no session could have written what is there.
func (b *Broker) untouched(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("it is not an absolute path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	granted, err := b.places.Granted()
	if err != nil {
		return "", err
	}
	within := func(folder string) bool {
		return real == folder || path == folder || strings.HasPrefix(real, folder+"/") || strings.HasPrefix(path, folder+"/")
	}
	if slices.ContainsFunc(append(granted, "/dev/shm"), within) {
		return "", fmt.Errorf("a session could have written it")
	}
	return real, nil
}

func systemRoots() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return x509.NewCertPool()
	}
	return pool
}
