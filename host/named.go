package host

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hostshim/host/protect"
	"hostshim/host/sandbox"
)

// certificateVars name files of certificates, or folders of them.
var certificateVars = []string{
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"AWS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE", "DENO_CERT", "npm_config_cafile", "NPM_CONFIG_CAFILE",
}

// The bounds of what is looked at (X19).
const (
	maxNamedFile   = 4 << 20 // bytes
	maxNamedFolder = 500     // files in a folder
	maxNamedDepth  = 10      // files that include one another, as with git
)

// named puts into spec what the target's environment and the user's own git configuration have programs read (X19). What a
// project says is not asked.
func (p *Plan) named(spec *sandbox.Spec) {
	var all []sandbox.Named
	add := func(path, by string, kind sandbox.NamedKind) {
		if filepath.IsAbs(path) {
			all = append(all, sandbox.Named{Path: filepath.Clean(path), By: by, Kind: kind})
		}
	}
	for _, name := range certificateVars {
		for _, path := range filepath.SplitList(lookup(p.env, name)) {
			add(path, name, sandbox.NamedCertificates)
		}
	}
	home := spec.Home
	if own := lookup(p.env, "HOME"); filepath.IsAbs(own) {
		home = own
	}
	config := lookup(p.env, "XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = home + "/.config"
	}
	if isSet(p.env, "GIT_CONFIG_GLOBAL") {
		add(lookup(p.env, "GIT_CONFIG_GLOBAL"), "GIT_CONFIG_GLOBAL", sandbox.NamedConfig)
	} else {
		add(home+"/.gitconfig", "git", sandbox.NamedIfGranted)
		add(config+"/git/config", "git", sandbox.NamedIfGranted)
	}
	if isSet(p.env, "GIT_CONFIG_SYSTEM") {
		add(lookup(p.env, "GIT_CONFIG_SYSTEM"), "GIT_CONFIG_SYSTEM", sandbox.NamedConfig)
	} else {
		add("/etc/gitconfig", "git", sandbox.NamedIfGranted)
	}
	spec.Named = all
	spec.Inspect = func(n sandbox.Named, real string, folder bool) ([]sandbox.Named, string) {
		return inspect(home, n, real, folder)
	}
}

func isSet(environ []string, name string) bool {
	for _, kv := range environ {
		if strings.HasPrefix(kv, name+"=") {
			return true
		}
	}
	return false
}

// inspect looks into what is named: what it names in turn, and why it is not to be granted, "" if it is. A ~ there is home.
func inspect(home string, n sandbox.Named, real string, folder bool) (more []sandbox.Named, why string) {
	if folder {
		return nil, inspectFolder(real, n.Kind)
	}
	data, err := readNamed(real)
	switch {
	case err != nil:
		return nil, Reason(err)
	case isKey(data):
		return nil, "it holds a private key"
	case n.Kind == sandbox.NamedCertificates && !bytes.Contains(data, []byte("CERTIFICATE-----")):
		return nil, "it holds no certificate"
	case n.Kind < sandbox.NamedConfig:
		return nil, ""
	}
	names, err := protect.GitNames(n.Path, data)
	if err != nil && n.Kind == sandbox.NamedConfig {
		return nil, err.Error()
	}
	for _, name := range names {
		kind := sandbox.NamedOther
		switch {
		case name.Include && n.Deep == maxNamedDepth:
			continue
		case name.Include:
			kind = sandbox.NamedConfig
		case strings.Contains(strings.ToLower(name.Key), ".sslca"), strings.HasSuffix(strings.ToLower(name.Key), "sslcainfo"):
			kind = sandbox.NamedCertificates
		}
		if rest, ok := strings.CutPrefix(name.Path, "~"); ok {
			name.Path = filepath.Clean(home + rest)
		}
		more = append(more, sandbox.Named{Path: name.Path, By: name.Key + " in " + n.Path, Kind: kind, Deep: n.Deep + 1})
	}
	return more, ""
}

// inspectFolder says why a folder is not to be granted. All below it would be, so all below it is looked at, and what cannot
// be looked at counts against it. What this user may not read, a session may not either.
func inspectFolder(dir string, kind sandbox.NamedKind) (why string) {
	seen, certificate := 0, kind != sandbox.NamedCertificates
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxNamedFolder {
			return errors.New("it is too large to look through")
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() && (certificate || d.Type()&fs.ModeSymlink == 0) {
			return err
		}
		data, err := readNamed(path)
		if !d.Type().IsRegular() || errors.Is(err, fs.ErrPermission) {
			certificate = certificate || bytes.Contains(data, []byte("CERTIFICATE-----"))
			return nil // a link: what it leads to is not granted with the folder
		}
		if err == nil && isKey(data) {
			err = errors.New("it holds a private key, " + d.Name())
		}
		certificate = certificate || bytes.Contains(data, []byte("CERTIFICATE-----"))
		return err
	})
	switch {
	case err != nil:
		return Reason(err)
	case !certificate:
		return "it holds no certificate"
	}
	return ""
}

var errTooLarge = errors.New("it is larger than 4 MiB")

// readNamed reads a regular file. Opening is non-blocking, for a FIFO may stand there by now.
func readNamed(path string) ([]byte, error) { return readUpTo(path, maxNamedFile) }

// readUpTo reads a regular file of at most limit bytes.
func readUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > limit {
		return nil, errTooLarge
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it became shorter
		err = nil
	}
	return data[:n], err
}

// isKey says whether a file looks like one of private keys.
func isKey(data []byte) bool {
	return bytes.Contains(data, []byte("PRIVATE KEY")) || bytes.HasPrefix(data, []byte("PuTTY-User-Key-File"))
}
