package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"hostshim/shim"
)

// Places are the files and folders a host works with. All are absolute.
type Places struct {
	Settings string // settings.json
	Named    bool   // the caller named the settings file: it must be there
	State    string // socket, profiles, session records, audit rows; 0700, denied to every sandbox (X12)
	Data     string // what a template keeps between sessions, as Claude Code's configuration; 0700; "": no home
	Shim     string // the shim program
}

// FindPlaces returns the usual places, with what the caller named in their stead; "" is unnamed.
func FindPlaces(settings, state, shimPath string) (Places, error) {
	p := Places{Settings: settings, Named: settings != "", State: state, Shim: shimPath}
	home, err := os.UserHomeDir()
	if err == nil && !filepath.IsAbs(home) {
		err = fmt.Errorf("%q is not absolute", home)
	}
	if err != nil && (settings == "" || state == "") {
		return p, fmt.Errorf("no home folder: %w", err)
	}
	if p.Settings == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return p, fmt.Errorf("no configuration folder: %w", err)
		}
		p.Settings = filepath.Join(config, "relay", "settings.json")
	}
	defaultState, data := defaultDirs(home)
	if p.State == "" {
		p.State = defaultState
	}
	if filepath.IsAbs(data) {
		p.Data = data
	}
	if p.Shim == "" {
		if p.Shim, err = besideHost(); err != nil {
			return p, err
		}
	}
	for _, path := range []*string{&p.Settings, &p.State, &p.Shim} {
		if *path, err = filepath.Abs(*path); err != nil {
			return p, err
		}
	}
	return p, nil
}

// xdg is a folder the environment names, if it does so with an absolute path, else one below home.
func xdg(name, home, below string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return filepath.Join(dir, "relay-host")
	}
	return filepath.Join(home, below, "relay-host")
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

// stateDir makes sure of the state folder, and of one in it: 0700, the caller's own, both.
func (p Places) stateDir(sub ...string) (string, error) {
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
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
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

// Host is the launcher: what `host run` and `host serve` share.
type Host struct {
	Places Places
	Base   []string     // the environment that children start from
	Warn   func(string) // a warning for the person, one line; never nil
	Models *Models      // the model proxy; nil until it is needed

	settings    settingsMemory // of the proxy, which asks at every request
	modelsOnce  sync.Mutex
	startShimOn func(*exec.Cmd) error // starts a shim on a thread that stays; nil: the caller's does
	served      bool                  // a long-lived host, which has the state folder's host.lock
}

// New returns a host that works with the given places.
func New(p Places, environ []string, warn func(string)) *Host {
	return &Host{Places: p, Base: environ, Warn: warn}
}

// Version of both programs.
const Version = shim.Version

// requestLog is where the proxy of a foreground launch leaves its request lines (P12).
func (p Places) requestLog() string { return filepath.Join(p.State, "requests.jsonl") }
