package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hostshim/shim"
)

// startWithin is how long a target may take to start (H04).
const startWithin = 10 * time.Second

// stdio are the standard streams of a session, and how it stands to the host's terminal.
type stdio struct {
	in, out, err *os.File
	pty          bool // in, out and err are a terminal that the shim makes its own
	apart        bool // a session of its own, away from the host's terminal and its signals
}

// running is a launch that has a shim.
type running struct {
	*plan
	shim   *child
	events chan shimEvent // closed when the shim is gone
	undo   []func()       // what the launch made, undone last first

	host     *Host
	record   *record
	listener *os.File // where the listener of the session's own network comes out (X09); nil: none is to come
}

// shimEvent is a status event as the shim writes it (S11).
type shimEvent struct {
	Event  string `json:"event"`
	Pid    int    `json:"pid"`
	Errno  int    `json:"errno"`
	Status int    `json:"status"`
	Signal int    `json:"signal"`
}

// launch makes what the plan needs, in an order in which every failure can be undone, and starts the shim.
func (h *Host) launch(p *plan, io stdio) (started *running, err error) {
	r := &running{plan: p, host: h, events: make(chan shimEvent, 8)}
	defer func() {
		if err != nil {
			r.cleanUp()
			r.token.Wipe()
		}
	}()
	profile := p.ProfilePath
	if p.profile != nil {
		profile = filepath.Join(h.Places.profiles(), p.SessionID+p.profile.Ext)
	}
	own := ""
	if p.profile != nil {
		own = profile
	}
	if r.record, err = h.claim(p, own); err != nil {
		return nil, err
	}
	r.undo = append(r.undo, r.record.release)
	if p.profile != nil {
		if err := h.makeSandbox(r, profile); err != nil {
			return nil, &Refusal{SandboxUnavailable, err.Error()}
		}
	}
	if p.credential == CredentialPairing {
		if err := h.mintPairing(r); err != nil {
			return nil, &Refusal{SandboxUnavailable, "pairing: " + err.Error()}
		}
	}
	if err := h.startShim(r, profile, io); err != nil {
		return nil, &Refusal{SpawnFailed, err.Error()}
	}
	return r, nil
}

// makeSandbox writes what the session's sandbox needs on disk.
func (h *Host) makeSandbox(r *running, profile string) error {
	if err := os.Mkdir(r.temp, 0o700); err != nil {
		return err
	}
	r.undo = append(r.undo, func() {
		if err := removeTree(r.temp); err != nil {
			h.Warn(fmt.Sprintf("session %s: %v", r.SessionID, err))
		}
	})
	if err := r.profile.Prepare(); err != nil {
		return err
	}
	// Also for a template of the settings that names this folder, to have another network say.
	if config := h.Places.claudeConfig(); lookup(r.env, "CLAUDE_CONFIG_DIR") == config {
		if err := welcomeClaude(config); err != nil {
			h.Warn(err.Error())
		}
	}
	if _, err := h.Places.stateDir("profiles"); err != nil {
		return err
	}
	f, err := os.OpenFile(profile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		// The record is ours, so this is what a killed host left.
		os.Remove(profile)
		f, err = os.OpenFile(profile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	r.undo = append(r.undo, func() { os.Remove(profile) })
	_, err = f.Write(r.profile.Text)
	return errors.Join(err, f.Close())
}

// startShim starts the shim with the child's ends of its pipes (H06) and closes them here, whatever comes.
func (h *Host) startShim(r *running, profile string, io stdio) error {
	env, own := shimEnv(r.env)
	o := &handover{args: append([]string{h.Places.Shim, "exec", "--session-id", r.SessionID}, own...), files: make([]*os.File, 3)}
	defer o.close()
	status, err := o.pipes(r)
	if err != nil {
		return err
	}
	if io.pty {
		o.args = append(o.args, "--pty")
	}
	if profile != "" {
		o.args = append(o.args, "--sandbox-profile", profile)
	}
	cmd := &exec.Cmd{
		Path: h.Places.Shim, Args: append(append(o.args, "--"), r.argv...), Env: env, Dir: r.Directory,
		Stdin: io.in, Stdout: io.out, Stderr: io.err, ExtraFiles: o.files,
		SysProcAttr: &syscall.SysProcAttr{Setsid: io.apart && !io.pty},
	}
	endWithHost(cmd.SysProcAttr)
	start := (*exec.Cmd).Start
	if h.startShimOn != nil {
		start = h.startShimOn
	}
	if err := start(cmd); err != nil {
		status.Close()
		return fmt.Errorf("shim: %w", err)
	}
	r.shim = newChild(cmd.Process)
	r.record.runs(r.shim.pid, 0, r.pairingID)
	go readEvents(status, r.events)
	return nil
}

// handover is what a shim is handed: arguments, and the child's ends of the pipes that they speak of.
type handover struct {
	args  []string
	files []*os.File // the first is descriptor 3; nil stays closed
}

func (o *handover) close() {
	for _, f := range o.files {
		if f != nil {
			f.Close()
		}
	}
}

// pipes makes secret, status and token pipe at 3, 4, 5, or status and token at 3 and 5 where there is no identity,
// and for a network of the session's own the socket at 6. It returns the end from which status events are read.
func (o *handover) pipes(r *running) (status *os.File, err error) {
	statusFD := shim.IdentityFD
	if !r.Identity.Empty() {
		statusFD = shim.StatusFD
		if o.files[0], err = r.Identity.Pipe(); err != nil {
			return nil, err
		}
		o.args = append(o.args, "--identity")
	}
	if r.credential != CredentialNone {
		if o.files[shim.TokenFD-shim.IdentityFD], err = r.token.Pipe(); err != nil {
			return nil, err
		}
		o.args = append(o.args, "--pass-token")
	}
	if r.ownNetwork() {
		ours, child, err := listenerSocket()
		if err != nil {
			return nil, err
		}
		r.listener = ours
		r.undo = append(r.undo, func() { ours.Close() })
		o.files = append(o.files, child)
		o.args = append(o.args, "--listener-fd", strconv.Itoa(shim.ListenerFD))
	}
	o.args = append(o.args, "--status-fd", strconv.Itoa(statusFD))
	status, o.files[statusFD-shim.IdentityFD], err = os.Pipe()
	return status, err
}

// shimEnv is the environment of the shim, and the flag that keeps from the target what is only the shim's. One
// processor is enough for a shim, and saves a fifth of the memory that it holds for a whole session.
func shimEnv(target []string) (env, flag []string) {
	if slices.ContainsFunc(target, func(kv string) bool { return strings.HasPrefix(kv, shim.EnvMaxProcs+"=") }) {
		return target, nil // the target's own word, which holds for its shim too
	}
	return append(slices.Clip(target), shim.EnvMaxProcs+"=1"), []string{"--own-gomaxprocs"}
}

// readEvents passes the shim's events on until the shim is gone.
func readEvents(status *os.File, events chan<- shimEvent) {
	defer close(events)
	defer status.Close()
	lines := bufio.NewScanner(status)
	lines.Buffer(make([]byte, 256), bufio.MaxScanTokenSize) // an event is short, and this lives as long as its session
	for lines.Scan() {
		var e shimEvent
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			events <- e
		}
	}
}

// awaitStart waits until the target runs and returns its process number, or says why it does not.
func (r *running) awaitStart(within time.Duration) (pid int, err error) {
	var late <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case e, ok := <-r.events:
			switch {
			case !ok:
				return 0, &Refusal{SpawnFailed, "the shim ended before its target had started"}
			case e.Event == shim.EventStarted:
				r.record.runs(r.shim.pid, e.Pid, r.pairingID)
				return e.Pid, r.serveOwnNetwork()
			case e.Event == shim.EventSpawnFailed:
				return 0, &Refusal{SpawnFailed, fmt.Sprintf("%q: %v", r.argv[0], syscall.Errno(e.Errno))}
			case e.Event == shim.EventBadSecret, e.Event == shim.EventHelloRefused:
				return 0, &Refusal{IdentityRefused, e.Event}
			}
		case <-late:
			return 0, &Refusal{SpawnFailed, fmt.Sprintf("the target had not started within %v", within)}
		}
	}
}

// sandboxFailure is why the target did not start: a shim that ends with 70 could not apply the sandbox (X03), and
// has said on its own standard error what to do.
func (r *running) sandboxFailure(err error, status int) error {
	var refusal *Refusal
	if status == shim.ExitUsage && r.Sandbox && errors.As(err, &refusal) && refusal.Code == SpawnFailed {
		return &Refusal{SandboxUnavailable, "the shim could not apply the sandbox"}
	}
	return err
}

// wait is the shim's exit status once it has ended, and the signal if one ended it.
func (r *running) wait() (status int, signal syscall.Signal) {
	ws, ok := r.shim.wait()
	switch {
	case !ok:
		return shim.ExitUsage, 0
	case ws.Signaled():
		return shim.ExitSignal + int(ws.Signal()), ws.Signal()
	}
	return ws.ExitStatus(), 0
}

func (r *running) cleanUp() { r.undoTo(0) }

// dismantle leaves the record alone, which comes first: by it the next host knows of a session that this one had no
// time to finish.
func (r *running) dismantle() { r.undoTo(1) }

func (r *running) undoTo(n int) {
	for len(r.undo) > n {
		last := len(r.undo) - 1
		r.undo[last]()
		r.undo = r.undo[:last]
	}
}
