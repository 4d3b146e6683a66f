package shim

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// target is the program that the shim started.
type target struct {
	cmd    *exec.Cmd
	pid    int
	watch  watch
	became chan error // nil once the process is the target; else why the second stage did not become it
}

// start starts the target, in its sandbox if it has one. Either way it closes the shim's copies of the token and the
// listener (S06).
func (l *launch) start() error {
	report, err := l.spawn()
	for _, f := range []*os.File{l.fds.token, l.fds.listener} {
		if f != nil {
			f.Close()
		}
	}
	if err != nil {
		return l.report(err)
	}
	go l.passSignals()
	if report == nil {
		l.targetRuns()
		l.target.became <- nil
		return nil
	}
	report.release()
	go func() {
		runtime.LockOSThread() // the thread, which waits in the kernel, ends with this function
		err := report.wait()
		if err == nil {
			l.targetRuns()
		} else {
			l.target.cmd.Process.Kill()
		}
		l.target.became <- err
	}()
	return nil
}

// report sends the event of a target that cannot start, if err says so.
func (l *launch) report(err error) error {
	var failed *failure
	if errors.As(err, &failed) {
		l.status.send(event{name: EventSpawnFailed, errno: int(failed.errno)})
	}
	return err
}

// spawn starts the process that is the target, or will be once its second stage has reported so.
func (l *launch) spawn() (*stageReport, error) {
	name := l.options.target[0]
	path, errno := lookPath(name, l.environ)
	if errno != 0 {
		return nil, cannotStart(name, errno, errno == unix.ENOENT || errno == unix.ENOTDIR)
	}
	if err := closeInherited(); err != nil {
		return nil, err
	}
	cmd := l.command(path)
	var report *stageReport
	var callers map[int]uint64
	if l.profile != "" {
		callers = becomeSubreaper()
		var err error
		if report, err = sandboxed(cmd, l.profile, l.fds.token, l.fds.listener); err != nil {
			return nil, sandboxFailed(name, err)
		}
	}
	if err := l.takePending(); err != nil {
		report.closeChildEnds()
		return nil, err
	}
	err := startWithSignals(cmd, report != nil)
	report.closeChildEnds()
	l.term.targetStarted()
	if err != nil && report != nil {
		return nil, sandboxFailed(name, err)
	} else if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return nil, cannotStart(name, errno, false)
	}
	pid := cmd.Process.Pid
	l.target = &target{cmd: cmd, pid: pid, watch: watchTarget(pid, callers), became: make(chan error, 1)}
	return report, nil
}

// command is the target as os/exec starts it.
func (l *launch) command(path string) *exec.Cmd {
	attr := &syscall.SysProcAttr{}
	dieWithShim(attr)
	l.term.prepare(attr)
	cmd := &exec.Cmd{
		Path: path, Args: l.options.target, Env: l.targetEnv(), SysProcAttr: attr,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if l.fds.token != nil {
		// The position is the number: a nil leaves 3 and 4 closed, and the token becomes 5 (S07).
		cmd.ExtraFiles = []*os.File{nil, nil, l.fds.token}
	}
	return cmd
}

// startWithSignals starts the target with an empty signal mask. A second stage starts with the forwarded signals
// blocked and empties the mask as its last step: a signal that comes meanwhile waits, then ends the stage or the target
// that it has become (S15).
func startWithSignals(cmd *exec.Cmd, stage bool) error {
	resetDispositions()
	if stage {
		setMask(forwarded)
		defer setMask(nil)
	} else {
		setMask(nil)
	}
	return startCommand(cmd)
}

// stageFailed reaps a second stage that did not become the target. If a signal ended the stage before, that is how the
// launch ended: a forwarded signal stopped it, and any other, such as the memory killer's, is reported as the exit.
// SIGSYS is different: by that signal a container's system-call filter refuses what the sandbox needs.
func (l *launch) stageFailed(err error) error {
	l.target.cmd.Wait()
	status, _ := l.target.cmd.ProcessState.Sys().(syscall.WaitStatus)
	sig := status.Signal()
	switch {
	case slices.Contains(forwarded, os.Signal(sig)):
	case err == errStageDied && status.Signaled() && sig != unix.SIGSYS:
		l.status.send(event{name: EventExit, signal: int(sig)})
	default:
		return sandboxFailed(l.options.target[0], err)
	}
	l.end.signal = sig
	return errStopped
}

// sandboxFailed tells a sandbox that cannot be applied (exit 70) from a target that the sandbox's second stage could
// not execute (exit 126).
func sandboxFailed(name string, err error) error {
	var stage *stageError
	if errors.As(err, &stage) && !stage.Sandbox {
		return cannotStart(name, stage.Errno, false)
	}
	f := &failure{err: err, exit: ExitUsage}
	errors.As(err, &f.errno)
	return f
}

// cannotStart is a target that does not exist (exit 127), or exists and cannot start (exit 126) (S14).
func cannotStart(name string, errno syscall.Errno, missing bool) error {
	f := &failure{err: errors.New(strconv.Quote(name) + ": " + errno.Error()), errno: errno, exit: ExitCannotStart}
	if missing {
		f.exit = ExitNotFound
	}
	return f
}

// targetEnv is the caller's environment. With a token it names the token's descriptor exactly once (S08).
func (l *launch) targetEnv() []string {
	env := make([]string, 0, len(l.environ)+1)
	var beside []string
	for _, kv := range l.environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == EnvLaunchFD || (l.passToken && name == EnvTokenFD) || (l.ownProcs && name == EnvMaxProcs) {
			continue
		}
		if l.passToken && value != "" && slices.Contains(AnthropicCredentials, name) {
			beside = append(beside, name)
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

// lookPath finds the target as a shell would (S14): a name with a slash is a path, and an empty element of PATH is the
// working directory. If no file of that name can be executed, one that exists gives EACCES.
func lookPath(name string, environ []string) (string, syscall.Errno) {
	if name == "" {
		return "", unix.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	worst := unix.ENOENT
	for _, dir := range filepath.SplitList(searchPath(environ)) {
		if dir == "" {
			dir = "."
		}
		path := dir + "/" + name
		switch errno := executable(path); errno {
		case 0:
			return path, 0
		case unix.EACCES:
			worst = unix.EACCES
		}
	}
	return "", worst
}

// searchPath is PATH. If it is unset, a shell's own default; if it is empty, the working directory alone.
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

// executable returns 0 if path looks like a program that this user may execute, else the reason.
func executable(path string) syscall.Errno {
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
