package llmproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hostshim/host/credential"
)

// DevicePairing returns the device pairing that the file at path holds, and makes the file if there is none (P06). It
// does not use a file that others could have read or written, or that holds no pairing, but replaces it and returns a
// warning (R04): every program that knows the old pairing needs the new one.
func DevicePairing(path string) (secret credential.Secret, warning string, err error) {
	secret, err = readDevicePairing(path)
	if err == nil {
		return secret, "", nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else {
		warning = fmt.Sprintf("device pairing %q: %v: made a new one, which programs outside a sandbox need from now on", path, bare(err))
		err = os.Remove(path)
	}
	if err == nil {
		err = makeDevicePairing(path)
	}
	if err == nil {
		secret, err = readDevicePairing(path)
	}
	if err != nil {
		return credential.Secret{}, "", fmt.Errorf("device pairing %q: %w", path, bare(err))
	}
	return secret, warning, nil
}

func readDevicePairing(path string) (credential.Secret, error) {
	// O_NONBLOCK: a FIFO must not block the host. O_NOFOLLOW: the owner of a link need not own the file that it names.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return credential.Secret{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return credential.Secret{}, err
	}
	if !info.Mode().IsRegular() {
		return credential.Secret{}, errors.New("not a regular file")
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return credential.Secret{}, fmt.Errorf("owned by user %d", owner)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return credential.Secret{}, fmt.Errorf("other users can reach it (mode %04o, want 0600)", mode)
	}
	content, err := io.ReadAll(io.LimitReader(f, secretLen+2))
	if err != nil {
		return credential.Secret{}, err
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	if !wellFormed(content) {
		clear(content)
		return credential.Secret{}, errors.New("does not hold a pairing")
	}
	return credential.NewSecret(content), nil
}

func wellFormed(pairing []byte) bool {
	for _, c := range pairing {
		if !secretChar(c) {
			return false
		}
	}
	return len(pairing) == secretLen
}

// secretChar reports whether c is in the base64url alphabet.
func secretChar(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// makeDevicePairing writes the file under another name and then links it, so that nobody ever reads half of it. When two
// hosts start at once, one link succeeds and both hosts read that file.
func makeDevicePairing(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".llm-proxy-pairing-*") // exclusive, mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	pairing := append(newSecret(), '\n')
	_, err = f.Write(pairing)
	clear(pairing)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// bare removes the path from an error whose caller adds one.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
