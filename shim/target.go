package shim

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// target is the program that the shim started.
type target struct {
	cmd   *exec.Cmd
	pid   int
	watch watch
}

// startError is a target that did not start: the errno goes into the status event, the exit status is 127 for
// one that was not found, 126 for one that was, 70 for a sandbox that cannot be applied (S14, S16).
type startError struct {
	err   error
	errno syscall.Errno
	exit  int
	hint  string
}

func (e *startError) Error() string { return e.err.Error() }

// start starts the target in its sandbox, if it has one, and closes the shim's copy of the token (S06).
func (l *launch) start() error {
	err := l.spawn()
	for _, f := range []*os.File{l.fds.token, l.fds.listener} {
		if f != nil {
			f.Close()
		}
	}
	var failed *startError
	switch {
	case errors.As(err, &failed):
		l.status.send(event{name: EventSpawnFailed, errno: int(failed.errno)})
		return err
	case err != nil:
		return err
	}
	l.status.send(event{name: EventStarted, pid: l.target.pid})
	return nil
}

func (l *launch) spawn() error {
	name := l.options.target[0]
	path, errno := lookPath(name, l.environ)
	if errno != 0 {
		return notStarted(name, errno, errno == unix.ENOENT || errno == unix.ENOTDIR)
	}
	if err := sweep(); err != nil {
		return err
	}
	attr := &syscall.SysProcAttr{}
	dieWithShim(attr)
	l.term.arrange(attr)
	cmd := &exec.Cmd{
		Path: path, Args: l.options.target, Env: l.targetEnv(), SysProcAttr: attr,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if l.fds.token != nil {
		// The position is the number: 3 and 4 stay closed, 5 is the token (S07).
		cmd.ExtraFiles = []*os.File{nil, nil, l.fds.token}
	}
	var report *stageReport
	if l.profile != "" {
		adopt()
		var err error
		if report, err = sandboxed(cmd, l.profile, l.fds.token, l.fds.listener); err != nil {
			return sandboxFailed(name, err)
		}
	}
	if err := l.signals.mayStart(); err != nil {
		report.started()
		return err
	}
	err := startWithSignals(cmd, report != nil)
	report.started()
	l.term.ready()
	if err != nil && report != nil {
		return sandboxFailed(name, err)
	} else if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return notStarted(name, errno, false)
	}
	l.target = &target{cmd: cmd, pid: cmd.Process.Pid, watch: watchTarget(cmd.Process.Pid, l.signals)}
	if report != nil {
		if err := l.interruptible(report.wait); err != nil {
			return l.stageFailed(name, cmd, err)
		}
	}
	return nil
}

// startWithSignals starts the target with an empty signal mask, a second stage with one that keeps a signal waiting
// until it becomes the target: its last step empties the mask, and the signal ends either one or the other (S15).
func startWithSignals(cmd *exec.Cmd, stage bool) error {
	startSignals()
	if stage {
		blockOnly(forwarded)
		defer blockOnly(nil)
	} else {
		blockOnly(nil)
	}
	return startStage(cmd)
}

// stageFailed ends a second stage that did not become the target.
func (l *launch) stageFailed(name string, cmd *exec.Cmd, err error) error {
	cmd.Process.Kill()
	cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && slices.Contains(forwarded, os.Signal(ws.Signal())) {
		return &stoppedError{ws.Signal()}
	}
	return sandboxFailed(name, err)
}

func sandboxFailed(name string, err error) error {
	var stage *stageError
	if errors.As(err, &stage) && !stage.Sandbox {
		return notStarted(name, stage.Errno, false)
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) && stage != nil {
		errno = stage.Errno
	}
	return &startError{err: err, errno: errno, exit: ExitUsage}
}

func notStarted(name string, errno syscall.Errno, missing bool) error {
	e := &startError{err: errors.New(strconv.Quote(name) + ": " + errno.Error()), errno: errno, exit: ExitCannotStart}
	if missing {
		e.exit = ExitNotFound
	}
	return e
}

// targetEnv is the caller's environment, with the token's number in it exactly once if there is a token (S08).
func (l *launch) targetEnv() []string {
	env := make([]string, 0, len(l.environ)+1)
	var beside []string
	for _, kv := range l.environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == EnvLaunchFD || (l.passToken && name == EnvTokenFD) || (l.ownProcs && name == EnvMaxProcs) {
			continue
		}
		for _, c := range AnthropicCredentials {
			if l.passToken && name == c && value != "" {
				beside = append(beside, name)
			}
		}
		env = append(env, kv)
	}
	if l.passToken {
		env = append(env, EnvTokenFD+"="+strconv.Itoa(TokenFD))
	}
	if len(beside) > 0 {
		warn(strings.Join(beside, ", ") + " in the environment: Claude Code would use it instead of the token")
	}
	return env
}

// lookPath finds the target as a shell would (S14): a name with a slash is a path; an empty element of PATH is
// the working directory; a file that may not be executed is remembered in case there is none that may.
func lookPath(name string, environ []string) (string, syscall.Errno) {
	if strings.Contains(name, "/") {
		return name, runnable(name)
	}
	worst := unix.ENOENT
	for _, dir := range filepath.SplitList(searchPath(environ)) {
		if dir == "" {
			dir = "."
		}
		path := dir + "/" + name
		switch errno := runnable(path); errno {
		case 0:
			return path, 0
		case unix.EACCES:
			worst = unix.EACCES
		}
	}
	if name == "" {
		worst = unix.ENOENT
	}
	return "", worst
}

// searchPath is PATH; unset, what a shell falls back to. An empty one is the working directory alone.
func searchPath(environ []string) string {
	path, set := "", false
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path, set = v, true
		}
	}
	switch {
	case !set:
		return "/usr/local/bin:/usr/bin:/bin"
	case path == "":
		return "."
	}
	return path
}

// runnable says why path cannot be executed, 0 if it looks as if it could.
func runnable(path string) syscall.Errno {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		errno, _ := err.(syscall.Errno)
		return errno
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR || unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) != nil {
		return unix.EACCES
	}
	return 0
}
