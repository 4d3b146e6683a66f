package host

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Outcome is what became of a foreground launch that was not refused.
type Outcome struct {
	End
	Missing   string   // the template's own command, if it is not installed here
	Package   string   // of npm, that has it
	Meant     string   // the agent's command, if the target is not there and may be a word for the agent
	Installer string   // what sets up the agent's package, if that was left out
	Refused   []string // entries of "hosts" that would have covered what the session was refused (N04)
	More      int      // attempts that were refused beside those
	Missed    []string // what the sandbox is known to have kept from a target that failed (U03)
	Lost      string   // which requests found no upstream, and why
	Resume    string   // the conversation that the agent can continue, in its configuration folder
}

// Run launches in the foreground, on the caller's own streams, and says how that ended (H01). An error is a
// *wire.Error: nothing was started and nothing is left on disk. The caller's goroutine must keep its thread, as main's
// does: the shim ends with the thread that started it.
func (h *Host) Run(r *Request) (out Outcome, err error) {
	// From here on a signal goes to the shim, and the host stays to clean up.
	signals, ready := catchSignals()
	r.Kind, r.ByHand = wire.KindRun, true
	cleaned := make(chan struct{})
	go func() {
		defer close(cleaned)
		h.config.Places.CleanUpLost(false, func(err error) { h.config.Warn(err.Error()) })
	}()
	defer func() {
		select {
		case <-cleaned:
		case <-signals: // the next host goes on with it
		}
	}()
	defer h.config.Broker.Close()
	before := time.Now()
	running, err := h.Open(r, Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Ready: ready})
	if err != nil {
		return out, err
	}
	defer running.AwaitRemoved(signals)
	defer running.Close()
	stop := passOn(signals, running)
	_, failed := running.AwaitStart(0)
	started := running.target.Load() > 0
	if failed != nil && started {
		running.Kill() // one that goes unrecorded, or without its network, does not go on
	}
	out.End = running.Wait()
	stop()
	out.Refused, out.More = running.out.Refused()
	if p, ok := running.Pairing(); ok && p.Lost > 0 {
		out.Lost = fmt.Sprintf("%d of the session's %d requests did not reach %s", p.Lost, p.Requests, p.Failure)
	}
	if failed == nil {
		running.AuditEnd()
		out.Missed = running.Plan.missed(out.End)
		if plan := running.Plan; plan.agent != nil && plan.agent.Command == settings.Claude.Command && plan.config != "" {
			out.Resume = conversation(plan.config, r.Directory, before)
		}
		return out, nil
	}
	if reason := running.NotStarted(failed, out.End, ""); reason.Code == wire.SandboxUnavailable || started {
		return out, reason
	}
	out.explain(running.Plan, r)
	return out, nil
}

// explain notes what is not installed here, or not wholly.
func (out *Outcome) explain(plan *Plan, r *Request) {
	switch {
	case out.Status == shim.ExitNotFound && plan.ours:
		out.Missing, out.Package = plan.argv[0], plan.agentOr(&settings.Agent{}).Package
	case out.Status == shim.ExitNotFound && plan.agent != nil && len(plan.agent.Subcommands) > 0:
		out.Meant = plan.agent.Command
	case out.Status == shim.ExitCannotStart:
		out.Installer = plan.agentOr(&settings.Claude).HalfInstalled(FindProgram(plan.argv[0], lookup(plan.env, "PATH"), r.Directory))
	}
}

func (p *Plan) agentOr(other *settings.Agent) *settings.Agent { return cmp.Or(p.agent, other) }

// passOn passes signals to the shim until stop is called.
func passOn(signals <-chan os.Signal, running *Running) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				running.Signal(sig.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// catchSignals closes ready when the handlers stand. On a goroutine of its own: on the caller's locked thread the
// runtime's handshake for each signal takes twice as long.
func catchSignals() (signals chan os.Signal, ready chan struct{}) {
	signals, ready = make(chan os.Signal, 16), make(chan struct{})
	go func() {
		defer close(ready)
		for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2} {
			if !signal.Ignored(sig) {
				signal.Notify(signals, sig)
			}
		}
	}()
	return signals, ready
}
