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

// DevicePairing returns the device pairing that the file at path holds, and makes the file when there is none
// (P06). A file that anybody else could have read or written, or that holds anything but a pairing, is refused:
// the cure is to remove it, then every program that knows the old pairing needs the new one.
func DevicePairing(path string) (credential.Secret, error) {
	secret, err := readDevicePairing(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeDevicePairing(path); err == nil {
			secret, err = readDevicePairing(path)
		}
	}
	if err != nil {
		return credential.Secret{}, fmt.Errorf("device pairing %q: %w", path, bare(err))
	}
	return secret, nil
}

func readDevicePairing(path string) (credential.Secret, error) {
	// O_NONBLOCK: a FIFO must not hold the host up. O_NOFOLLOW: a link says nothing about who owns what it names.
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
	content, err := io.ReadAll(io.LimitReader(f, pairingLen+2))
	if err != nil {
		return credential.Secret{}, err
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	if !wellFormed(content) {
		clear(content)
		return credential.Secret{}, errors.New("does not hold a pairing, remove it to have a new one made")
	}
	return credential.NewSecret(content), nil
}

func wellFormed(pairing []byte) bool {
	for _, c := range pairing {
		if !pairingChar(c) {
			return false
		}
	}
	return len(pairing) == pairingLen
}

// pairingChar says whether c is of the base64url alphabet.
func pairingChar(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// makeDevicePairing writes a whole file under another name and links it to its own: nobody ever sees half a
// file, and of two hosts that start at once one wins and both read the winner's.
func makeDevicePairing(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".llm-proxy-pairing-*") // exclusive, mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	pairing := append(newPairing(), '\n')
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

// bare takes the path out of an error that is about to be given one.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
