package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"hostshim/shim"
)

// NewSessionID makes a session id that nobody has used.
func NewSessionID(prefix string) string {
	var b [8]byte
	rand.Read(b[:])
	return prefix + "-" + hex.EncodeToString(b[:])
}

// End is what became of a launch that was not refused.
type End struct {
	Status  int            // the shim's exit status
	Signal  syscall.Signal // the signal that ended the shim; 0: none did
	Missing string         // the template's own command, if it is not installed here
}

// Run launches in the foreground, on the caller's own streams, and says how that ended (H01). A refusal is a
// *Refusal: nothing was started and nothing is left on disk. It must be called on a goroutine that keeps its
// thread, as main does.
func (h *Host) Run(r *Request) (end End, err error) {
	// Before anything is made, and while it is decided what: a signal from then on goes to the shim, and the host
	// stays to clean up.
	signals, ready := catchSignals()
	r.Kind = KindRun
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		h.Sweep()
	}()
	defer func() { <-swept }()
	running, err := h.start(r, stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}, ready)
	if err != nil {
		return end, err
	}
	defer func() {
		running.cleanUp()
		if h.Models != nil {
			h.Models.Close()
		}
	}()
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				running.shim.signal(sig.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	_, failed := running.awaitStart(0)
	if failed == nil {
		h.auditLaunch(running.plan, nil)
	}
	end.Status, end.Signal = running.wait()
	close(done)
	if failed != nil {
		failed = running.sandboxFailure(failed, end.Status)
		h.auditLaunch(running.plan, failed)
		var refusal *Refusal
		if errors.As(failed, &refusal) && refusal.Code == SandboxUnavailable {
			return end, refusal
		}
	}
	if failed != nil && end.Status == shim.ExitNotFound && len(r.Argv) == 0 {
		end.Missing = running.argv[0]
	}
	if failed == nil {
		row := running.row("session_end")
		row.Outcome, row.Credential, row.PairingID = "ok", running.credential, running.pairingID
		if err := h.audit(row); err != nil {
			h.Warn(err.Error())
		}
	}
	return end, nil
}

// catchSignals says when it does: off the caller's thread the runtime's handshake for each signal takes half as long.
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

// start authorises and, once ready is closed, launches; a nil ready is. A refused launch leaves its audit row here.
func (h *Host) start(r *Request, io stdio, ready <-chan struct{}) (*running, error) {
	p, err := h.authorize(r)
	if ready != nil {
		<-ready
	}
	if err == nil {
		var started *running
		if started, err = h.launch(p, io); err == nil {
			return started, nil
		}
	}
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		refusal = &Refusal{SpawnFailed, err.Error()}
	}
	h.auditLaunch(&plan{Request: r, credential: CredentialNone}, refusal)
	return nil, refusal
}

// auditLaunch writes the row of a launch that happened, or did not.
func (h *Host) auditLaunch(p *plan, failed error) {
	row := p.row("session_launch")
	row.Outcome, row.Credential, row.PairingID = "ok", p.credential, p.pairingID
	var refusal *Refusal
	if errors.As(failed, &refusal) {
		row.Outcome, row.Error = refusal.outcome(), refusal.Error()
	}
	if err := h.audit(row); err != nil {
		h.Warn(err.Error())
	}
}
