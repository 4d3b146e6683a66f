package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxGranted bounds how many folders are remembered, and so what each launch reads.
const maxGranted = 10_000

// GrantedFile remembers which folders sessions were ever granted for writing (X15): a link in one may be a session's. It
// has a JSON string a line and is only ever appended to.
func (p Places) GrantedFile() string { return filepath.Join(p.State, "granted.jsonl") }

// Granted lists the folders that sessions were ever granted for writing.
func (p Places) Granted() ([]string, error) {
	f, err := os.OpenFile(p.GrantedFile(), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var folders []string
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 512), bufio.MaxScanTokenSize) // each launch reads a few short lines, twice
	for lines.Scan() {
		var folder string
		// A line that a crash or a full disk cut off belongs to a launch that did not start.
		if json.Unmarshal(lines.Bytes(), &folder) == nil && filepath.IsAbs(folder) {
			folders = append(folders, folder)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.GrantedFile(), err)
	}
	return folders, nil
}

// RememberGranted adds folders before a session can write them. A launch that cannot be remembered is not to happen.
func (p Places) RememberGranted(folders []string) error {
	known, err := p.Granted()
	if err != nil {
		return err
	}
	added := newFolders(known, folders)
	if len(added) == 0 {
		return nil
	}
	if len(known)+len(added) > maxGranted {
		return fmt.Errorf("%s holds %d folders, as many as it may: remove the lines of those that are gone", p.GrantedFile(), len(known))
	}
	var text []byte
	for _, folder := range added {
		line, err := json.Marshal(folder)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if _, err := p.Dir(); err != nil {
		return err
	}
	f, err := os.OpenFile(p.GrantedFile(), os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if flock(f, time.Now().Add(rowWithin)) == nil && cutOff(f) {
		text = append([]byte{'\n'}, text...)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// newFolders are those that neither a known folder holds nor an earlier one of theirs.
func newFolders(known, folders []string) (added []string) {
	for _, folder := range folders {
		holds := func(other string) bool {
			return folder == other || strings.HasPrefix(folder, strings.TrimSuffix(other, "/")+"/")
		}
		if !slices.ContainsFunc(known, holds) && !slices.ContainsFunc(added, holds) {
			added = append(added, folder)
		}
	}
	return added
}
