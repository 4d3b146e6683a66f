package state

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hostshim/host/credential"
)

// Places are the files and folders a host works with. All are absolute.
type Places struct {
	Settings string // settings.json
	Named    bool   // the caller named the settings file: it must be there
	State    string // socket, profiles, session records, audit rows; 0700, denied to every sandbox (X12)
	Data     string // what a template keeps between sessions, as Claude Code's configuration; 0700; "": no home
	Shim     string // the shim program

	audit *auditLog // nil: the file is opened for each row
}

// Find returns the usual places, with what the caller named in their stead; "" is unnamed. Beside an error the state
// folder is set if it is known, for the audit row.
func Find(settings, state, shimPath string) (Places, error) {
	p := Places{Settings: settings, Named: settings != "", State: state, Shim: shimPath, audit: new(auditLog)}
	home, noHome := credential.Home()
	defaultState, data := defaultDirs(home)
	if filepath.IsAbs(data) {
		p.Data = data
	}
	if p.State == "" && filepath.IsAbs(defaultState) {
		p.State = defaultState
	}
	var err error
	if p.State, err = absolute(p.State); err != nil {
		return p, err
	}
	if noHome != nil && (settings == "" || state == "") {
		return p, fmt.Errorf("no home folder: %w", noHome)
	}
	if p.Settings == "" {
		config, err := configDir(home)
		if err != nil {
			return p, fmt.Errorf("no configuration folder: %w", err)
		}
		p.Settings = filepath.Join(config, "relay", "settings.json")
	}
	if p.Shim == "" {
		if p.Shim, err = besideHost(); err != nil {
			return p, err
		}
	}
	if p.Settings, err = absolute(p.Settings); err != nil {
		return p, err
	}
	p.Shim, err = absolute(p.Shim)
	return p, err
}

// absolute keeps "" as it is: unknown.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%q, in this working directory: %w", path, err)
	}
	return abs, nil
}

// besideHost is the shim that was installed with this host, under the same prefix if it has one.
func besideHost() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("own program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	name := "shim"
	if prefix, ok := strings.CutSuffix(filepath.Base(self), "host"); ok {
		name = prefix + "shim"
	}
	return filepath.Join(filepath.Dir(self), name), nil
}

// Dir makes sure of the state folder, and of one in it: 0700, the caller's own, both.
func (p Places) Dir(sub ...string) (string, error) {
	dir, err := privateDir(p.State)
	for _, name := range sub {
		if err == nil {
			dir, err = privateDir(filepath.Join(dir, name))
		}
	}
	return dir, err
}

// privateDir makes dir, and what is missing above it, with mode 0700. One that others can use is refused.
func privateDir(dir string) (string, error) {
	f, err := openOwn(dir, true)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return dir, judgePrivate(dir, info)
}

// judgePrivate says why dir is no folder of the caller's alone.
func judgePrivate(dir string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory", dir)
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s: belongs to user %d: name another with --state-dir", dir, st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: mode %04o lets other users in: chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// AgentFolder is the configuration folder that the host keeps for an agent (X05); "" without a data folder.
func (p Places) AgentFolder(name string) string {
	if p.Data == "" {
		return ""
	}
	return filepath.Join(p.Data, name)
}

// CacheFolder is where a template's sessions keep what their tools write always (E06); "" without a data folder. Sessions
// with a pairing have theirs apart: what one leaves in a cache runs in the next, which may hold the token. A folder that is
// there must be the caller's alone.
func (p Places) CacheFolder(template string, pairing bool) (string, error) {
	if p.Data == "" {
		return "", nil
	}
	kind := filepath.Join(p.Data, "cache")
	if pairing {
		kind += "-brokered"
	}
	dir := filepath.Join(kind, template)
	if err := errors.Join(p.CheckData(kind), p.CheckData(dir)); err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err == nil {
		return dir, judgePrivate(dir, info)
	}
	return dir, nil
}

// MakeAgentFolder makes sure of an agent's configuration folder: 0700, the caller's own.
func (p Places) MakeAgentFolder(name string) (string, error) {
	if err := p.CheckData(p.AgentFolder(name)); err != nil {
		return "", err
	}
	if _, err := privateDir(p.Data); err != nil {
		return "", err
	}
	return privateDir(p.AgentFolder(name))
}

// Profiles is where the profiles of live sessions are (X01).
func (p Places) Profiles() string { return filepath.Join(p.State, "profiles") }

// RequestLog is where the model proxy of a foreground launch leaves its request lines (P12).
func (p Places) RequestLog() string { return filepath.Join(p.State, "requests.jsonl") }

// DevicePairing is the file of the device pairing (P06).
func (p Places) DevicePairing() string { return filepath.Join(p.State, "llm-proxy-pairing") }

// Socket is where the long-lived host listens (H02).
func (p Places) Socket() string { return filepath.Join(p.State, "host.sock") }

// maxSocketPath is the longest path that a socket address holds, in bytes; a NUL ends it.
var maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// CheckSocket refuses a state folder whose socket has too long a path for a socket address.
func (p Places) CheckSocket() error {
	if path := p.Socket(); len(path) > maxSocketPath {
		return fmt.Errorf("socket path %q is %d bytes long, the system allows %d: name a shorter folder with --state-dir", path, len(path), maxSocketPath)
	}
	return nil
}

// TempFolder is where a new session's temporary folder goes.
func TempFolder() (string, error) {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	if f, err := openOwn(dir, false); err == nil {
		f.Close()
	} else if !os.IsNotExist(err) {
		return "", fmt.Errorf("temporary folder: %w", err)
	}
	var id [8]byte
	rand.Read(id[:])
	return filepath.Join(RealTemp(), tempPrefix+hex.EncodeToString(id[:])), nil
}

// tempPrefix begins the name of each session's temporary folder.
const tempPrefix = "relay-"

// RealTemp is the system's folder for temporary files, without links: profiles name real paths.
func RealTemp() string {
	temp := cmp.Or(UserTemp(), os.TempDir())
	dir, err := filepath.Abs(temp)
	if err != nil {
		return temp
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
