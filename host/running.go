package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"hostshim/host/credential"
	"hostshim/host/llmproxy"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

// Running is a launch that has a shim. Its owner calls AwaitStart, then Wait, then Close; Signal and Kill at any time
// between. Each launch so leaves one launch row, and one end row where its target started.
type Running struct {
	Plan      *Plan
	ShimPID   int
	PairingID string // "": no pairing was made

	host     *Host
	begun    time.Time // before the shim
	end      End       // what Wait returned
	record   *state.Record
	shim     *child
	events   chan shimEvent // closed when the shim is gone
	last     shimEvent      // the last one that came
	target   atomic.Int64   // leader of the target's process group; 0: it has not started
	token    credential.Secret
	shown    []credential.Secret // forms of the pairing that the session has besides
	env      []string
	removed  <-chan struct{}                  // closed when the temporary folder is removed; nil: there was none
	undo     []func()                         // what the launch made beside the record, undone last first
	out      *llmproxy.Egress                 // the way out to hosts by name; nil: none
	pairing  atomic.Pointer[llmproxy.Pairing] // as it was last seen; nil: none was made
	listener *os.File                         // where the listener of the session's own network comes out (X09); nil: none is to come
}

// End is how a launch ended.
type End struct {
	Status int            // the shim's exit status, or 128 + the signal that ended the shim
	Signal syscall.Signal // the signal that ended the target, or the shim; 0: none
	Shim   syscall.Signal // the signal that ended the shim; 0: none
	Left   []string       // processes of the session that could not be ended
}

var errEnded = errors.New("the shim ended before its target had started")

// AwaitStart waits until the target runs, writes the launch's audit row and returns the target's process number. A limit
// of 0 is none. An error says that the target does not run, or not in time: the caller ends the shim, waits for it, and
// learns the reason from NotStarted.
func (r *Running) AwaitStart(limit time.Duration) (pid int, err error) {
	var deadline <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		deadline = timer.C
	}
	for {
		select {
		case e, ok := <-r.events:
			if !ok {
				return 0, errEnded
			}
			switch r.last = e; e.Event {
			case shim.EventStarted:
				r.target.Store(int64(e.Pid))
				r.record.Runs(r.ShimPID, e.Pid, r.PairingID)
				if err := r.serveOwnNetwork(); err != nil {
					return 0, err
				}
				// One that goes unrecorded does not go on.
				return e.Pid, r.host.config.Places.Append(r.row(state.EventLaunch))
			case shim.EventSpawnFailed, shim.EventBadSecret, shim.EventHelloRefused:
				return 0, errors.New(e.Event)
			}
		case <-deadline:
			return 0, fmt.Errorf("the target had not started within %v", limit)
		}
	}
}

// NotStarted is why the target did not start, after Wait, and writes that into the launch's audit row. Said is what the
// shim printed about it, where the caller can tell.
func (r *Running) NotStarted(cause error, end End, said string) *wire.Error {
	err := notStarted(r.last, cause, end, r.Plan.argv[0], r.Plan.Sandboxed, said)
	r.host.auditRefused(r.Plan, r.PairingID, err)
	return err
}

// notStarted words the failure: by the last event, the shim's exit status and its own message. A sandboxed launch that
// exits 70 could not apply the sandbox (X03).
func notStarted(last shimEvent, cause error, end End, program string, sandboxed bool, said string) *wire.Error {
	switch {
	case last.Event == shim.EventBadSecret || last.Event == shim.EventHelloRefused:
		return &wire.Error{Code: wire.IdentityRefused, Message: last.Event}
	case end.Status == shim.ExitUsage && sandboxed:
		return &wire.Error{Code: wire.SandboxUnavailable, Message: cmp.Or(said, "the shim could not apply the sandbox"), Errno: last.Errno}
	case end.Shim != 0 && cause == errEnded: // a target may run a moment before its shim can say so
		return &wire.Error{Code: wire.SpawnFailed, Message: fmt.Sprintf("the shim was ended before it had said that %q had started: %v", program, end.Shim), ExitStatus: end.Status}
	case end.Signal != 0 && cause == errEnded: // by the kernel, say, for want of memory
		return &wire.Error{Code: wire.SpawnFailed, Message: fmt.Sprintf("%q was ended before it had started: %v", program, end.Signal), ExitStatus: end.Status}
	case last.Event == shim.EventSpawnFailed:
		text := cmp.Or(said, fmt.Sprintf("%q: %v", program, syscall.Errno(last.Errno)))
		return &wire.Error{Code: wire.SpawnFailed, Message: text, Errno: last.Errno, ExitStatus: end.Status}
	case said != "":
		return &wire.Error{Code: wire.SpawnFailed, Message: said}
	}
	return &wire.Error{Code: wire.SpawnFailed, Message: cause.Error()}
}

// Signal sends a signal to the shim, which passes most on to its target (S15).
func (r *Running) Signal(sig syscall.Signal) { r.shim.signal(sig) }

// ShimWithin is how long a shim has, after Kill, to end what its target left. It gives up by itself earlier.
const ShimWithin = 12 * time.Second

// Kill ends the target and its process group, and leaves the rest of the session to the shim, which alone can find it. A
// shim that is there after ShimWithin is killed. The shim is stopped meanwhile, so that it cannot reap the target: until
// then the target's number, and its group's, are nobody else's.
func (r *Running) Kill() {
	target := int(r.target.Load())
	if target <= 0 { // the kernel ends a second stage with its shim
		r.shim.signal(syscall.SIGKILL)
		return
	}
	r.shim.signal(syscall.SIGSTOP)
	if p, err := state.ProcessOf(target); err == nil && p.Parent == r.ShimPID {
		syscall.Kill(target, syscall.SIGKILL) // it may have joined another group
		syscall.Kill(-target, syscall.SIGKILL)
	}
	r.shim.signal(syscall.SIGCONT)
	time.AfterFunc(ShimWithin, func() { r.shim.signal(syscall.SIGKILL) })
}

// Wait waits for the shim's end, and ends what is left of the session then.
func (r *Running) Wait() (end End) {
	for e := range r.events {
		r.last = e
	}
	if r.last.Event == shim.EventExit {
		end.Signal = syscall.Signal(r.last.Signal)
	}
	ws, ok := r.shim.wait()
	switch {
	case !ok:
		end.Status = shim.ExitUsage
	case ws.Signaled():
		end.Status = shim.ExitSignal + int(ws.Signal())
		end.Signal, end.Shim = ws.Signal(), ws.Signal()
	default:
		end.Status = ws.ExitStatus()
	}
	if r.Plan.Sandboxed {
		within := time.Second // a shim that was not killed has tried already
		if end.Shim != 0 {
			within = 10 * time.Second
		}
		end.Left = r.host.shims.endOrphans(within)
	}
	if len(end.Left) > 0 {
		r.host.config.Warn(fmt.Sprintf("session %s: could not be ended: %s", r.Plan.request.SessionID, strings.Join(end.Left, ", ")))
	}
	r.end = end
	return end
}

// AuditEnd writes the row of the end of a launch whose target had started. Where that fails the record keeps the row.
func (r *Running) AuditEnd() {
	row := r.row(state.EventEnd)
	row.ExitStatus, row.Duration = &r.end.Status, max(1, time.Since(r.begun).Milliseconds())
	row.Changed = r.changed()
	if len(r.end.Left) > 0 {
		row.Outcome, row.Error = state.OutcomeError, "not ended: "+strings.Join(r.end.Left, ", ")
	}
	if err := r.host.config.Places.Append(row); err != nil {
		r.record.Owe(row)
		r.host.config.Warn(err.Error() + "; the session's record keeps the row")
	}
}

func (r *Running) row(event string) state.Row {
	row := r.Plan.row(event)
	row.PairingID = r.PairingID
	return row
}

// Secrets are what the launch handed over, to be found in a target's words.
func (r *Running) Secrets() []credential.Secret {
	return append([]credential.Secret{r.token, r.Plan.request.Identity, r.Plan.request.ModelKey}, r.shown...)
}

// Wipe forgets the secrets of the launch and of its request.
func (r *Running) Wipe() {
	for _, secret := range r.Secrets() {
		secret.Wipe()
	}
	r.Plan.request.Wipe()
}

// ReleaseButRecord takes back what the launch made, and leaves the record: while it is there the next host finds a
// session that this host had no time to finish.
func (r *Running) ReleaseButRecord() {
	for len(r.undo) > 0 {
		last := len(r.undo) - 1
		r.undo[last]()
		r.undo = r.undo[:last]
	}
}

// Close takes back everything that the launch made. Its audit row is written by then. The temporary folder may take
// longer.
func (r *Running) Close() {
	r.ReleaseButRecord()
	if r.record != nil {
		r.record.Release()
		r.record = nil
	}
}

// removedWithin is how long the end of a host waits for a folder's removal.
const removedWithin = 30 * time.Second

// Removed is closed when the temporary folder is removed, however long that takes; nil: there was none.
func (r *Running) Removed() <-chan struct{} { return r.removed }

// AwaitRemoved waits until the temporary folder is removed, or until somebody hurries, removedWithin at most: the next host
// then goes on with it.
func (r *Running) AwaitRemoved(hurry <-chan os.Signal) {
	if r.removed == nil {
		return
	}
	timer := time.NewTimer(removedWithin)
	defer timer.Stop()
	select {
	case <-r.removed:
	case <-hurry:
	case <-timer.C:
	}
}
