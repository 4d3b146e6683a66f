// Package host launches sandboxed agents. One launch is an agenda: plan (decide everything, make nothing), launch (make
// what the plan needs, start the shim), await its start, wait for its end, release. Run does it in the foreground; package
// server does it for many sessions at once.
package host

import (
	"os/exec"

	"hostshim/host/state"
)

// Config is what a Host is made of.
type Config struct {
	Places  state.Places
	Environ []string     // the environment that children start from
	Warn    func(string) // takes a warning for the person, one line
	Hint    func(string) // takes what would help a person's launch, one line; nil: it is not looked for
	Broker  *Broker

	// Of a long-lived host:
	Served bool                  // it holds the host lock, which stands for the records of its sessions
	Start  func(*exec.Cmd) error // starts a shim on a thread that stays; nil: the caller's thread does
}

// Host launches. It is complete when New returns it, and may be used from several goroutines.
type Host struct {
	config Config
	shims  children
}

// New makes a host.
func New(c Config) *Host {
	if c.Start == nil {
		c.Start = (*exec.Cmd).Start
	}
	return &Host{config: c}
}

// IsShim says whether pid is the shim of a live session.
func (h *Host) IsShim(pid int) bool { return h.shims.has(pid) }

func (h *Host) warnAll(warnings []string) {
	for _, w := range warnings {
		h.config.Warn(w)
	}
}
