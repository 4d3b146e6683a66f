package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostshim/host/wire"
	"hostshim/shim"
)

// shimEvent is a status event as the shim writes it (S11).
type shimEvent struct {
	Event  string `json:"event"`
	Pid    int    `json:"pid"`
	Errno  int    `json:"errno"`
	Status int    `json:"status"`
	Signal int    `json:"signal"`
}

// spawn starts the shim with the child's ends of its pipes (H06) and closes those ends here, also when it fails.
func (r *Running) spawn(streams Stdio) error {
	h, request := r.host, r.Plan.request
	env, own := shimEnv(r.env)
	o := &handover{args: append([]string{h.config.Places.Shim, "exec", "--session-id", request.SessionID}, own...), files: make([]*os.File, 3)}
	defer o.close()
	status, err := o.pipes(r)
	if err != nil {
		return err
	}
	if streams.Terminal {
		o.args = append(o.args, "--pty")
	}
	if profile := h.profilePath(r.Plan); profile != "" {
		o.args = append(o.args, "--sandbox-profile", profile)
	}
	cmd := &exec.Cmd{
		Path: h.config.Places.Shim, Args: append(append(o.args, "--"), r.Plan.argv...), Env: env, Dir: request.Directory,
		Stdin: streams.In, Stdout: streams.Out, Stderr: streams.Err, ExtraFiles: o.files,
		SysProcAttr: &syscall.SysProcAttr{Setsid: streams.Apart && !streams.Terminal},
	}
	endWithHost(cmd.SysProcAttr)
	if r.Plan.Sandboxed {
		h.shims.becomeSubreaper()
	}
	if r.shim, err = h.shims.start(cmd, h.config.Start); err != nil {
		status.Close()
		return fmt.Errorf("shim: %w", err)
	}
	r.ShimPID = r.shim.pid
	r.record.Runs(r.ShimPID, 0, r.PairingID)
	go readEvents(status, r.events)
	return nil
}

// handover is what a shim is handed: arguments, and the child's ends of the pipes that they name.
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

// pipes makes the secret, status and token pipes at 3, 4 and 5. Without an identity status is at 3 and 4 stays closed.
// For a network of the session's own it also makes the socket at 6. It returns the end that status events are read from.
func (o *handover) pipes(r *Running) (status *os.File, err error) {
	statusFD := shim.IdentityFD
	if identity := r.Plan.request.Identity; !identity.Empty() {
		statusFD = shim.StatusFD
		if o.files[0], err = identity.Pipe(); err != nil {
			return nil, err
		}
		o.args = append(o.args, "--identity")
	}
	if r.Plan.Credential != wire.CredentialNone {
		if o.files[shim.TokenFD-shim.IdentityFD], err = r.token.Pipe(); err != nil {
			return nil, err
		}
		o.args = append(o.args, "--pass-token")
	}
	if r.Plan.ownNetwork() {
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
		return target, nil // the target has its own value, which holds for its shim too
	}
	return append(slices.Clip(target), shim.EnvMaxProcs+"=1"), []string{"--own-gomaxprocs"}
}

// readEvents passes the shim's events on until the shim is gone.
func readEvents(status io.ReadCloser, events chan<- shimEvent) {
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
