package shim

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageMain is the second stage: the shim once more, started by the shim. Within a millisecond it gives up what the
// target must not have, and becomes the target (X02). It returns an exit status only if that failed. It prints nothing:
// the reason goes to the shim through the report pipe.
//
// All restrictions bind the calling thread and the program that it executes. So the goroutine stays on one thread, and
// execve ends the other threads, which were never confined.
func stageMain(args, environ []string) (status int) {
	runtime.LockOSThread()
	defer func() {
		if recover() != nil {
			reportError(&stageError{Sandbox: true, Step: "sandbox: second stage", Reason: "internal error"})
			status = ExitUsage
		}
	}()
	reportError(becomeTarget(args, environ))
	return ExitUsage
}

// becomeTarget is the agenda of the second stage.
func becomeTarget(args, environ []string) error {
	makeUndumpable()
	fatalByDefault()
	s, err := decodeStage(args)
	if err != nil {
		return stageFailure("sandbox: second stage", err)
	}
	if err := keepDescriptors(s.token); err != nil {
		return err
	}
	if s.listener {
		if err := ownNamespaces(); err != nil {
			return err
		}
	}
	if err := awaitRules(); err != nil {
		return err
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if err := dieWithParent(s.parent); err != nil {
		return err
	}
	if err := enforce(stageRulesFD); err != nil {
		return err
	}
	if err := loadFilter(s.listener); err != nil {
		return err
	}
	if s.ownProcs {
		environ = slices.DeleteFunc(environ, isMaxProcs)
	}
	return execTarget(s.path, s.argv, environ)
}

// fatalByDefault gives back to the kernel the signals that end a program, so that it ends this one with all its threads at
// once. The runtime's handler may run on any thread: execve would end that thread, and the signal would be lost (S15). For
// QUIT it would also print the goroutines.
func fatalByDefault() {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT} {
		if disposition(sig) != ignored { // by nohup (S17)
			ByDefault(sig)
		}
	}
}

// keepDescriptors makes execve close everything above 2 but the token. Only the command line tells whether there is a
// token: without one, the runtime may have a descriptor of its own at 5.
func keepDescriptors(token bool) error {
	first := uint(3)
	if token {
		if err := unix.CloseRange(first, TokenFD-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
			return stageFailure("sandbox: descriptors", err)
		}
		first = TokenFD + 1
	}
	if err := unix.CloseRange(first, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return stageFailure("sandbox: descriptors", err)
	}
	return nil
}

// ownNamespaces makes the network and the view of files of a session that has its own.
func ownNamespaces() error {
	policy, err := readPolicy(os.NewFile(stageProfileFD, "profile"), "")
	if err != nil {
		return err
	}
	if err := stageNetwork(policy); err != nil {
		return err
	}
	return stageMounts(policy)
}

// awaitRules waits until the shim has filled the ruleset. Without a byte it has not, and says why itself.
func awaitRules() error {
	// What stands in the way has a name in the answer to this question, and none in the errno of the last step.
	if _, err := landlockABI(); err != nil {
		return err
	}
	for {
		var one [1]byte
		switch n, err := unix.Read(stageReadyFD, one[:]); {
		case err == unix.EINTR:
		case n == 1:
			return nil
		default:
			return stageFailure("sandbox: second stage", errors.New("the shim gave no rules"))
		}
	}
}

// dropPrivileges leaves the target no capability and no way to get one (X08, X10): not by inheritance, not by a setuid
// program, and not by being root. Root would get capabilities back at every exec, but for the empty bounding set and
// no_new_privs.
func dropPrivileges() error {
	for c := uintptr(0); ; c++ {
		// EINVAL: this number is past the kernel's last capability. EPERM: an ordinary user, for whom no_new_privs is
		// enough.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL || err == unix.EPERM {
			break
		} else if err != nil {
			return stageFailure("sandbox: capabilities", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return stageFailure("sandbox: capabilities", err)
	}
	var none [2]unix.CapUserData // version 3 has two words
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return stageFailure("sandbox: capabilities", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return stageFailure("sandbox: no_new_privs", err)
	}
	return nil
}

// dieWithParent arms the parent-death signal on this thread (S19). The signal is a setting of a thread: the start armed
// it on the process's first thread, and execve keeps the setting of the thread that calls it. A parent that is already
// dead sends no signal, so this looks for the parent afterwards.
func dieWithParent(parent int) error {
	if parent == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return stageFailure("sandbox: parent-death signal", err)
	}
	if os.Getppid() != parent {
		return stageFailure("sandbox: second stage", errors.New("the shim is gone"))
	}
	return nil
}

// execTarget empties the signal mask (S17) and executes the target. syscall.Exec restores the limit of open files, which
// the runtime had raised.
func execTarget(path string, argv, environ []string) error {
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	report([]byte(reportExec))
	e := &stageError{Step: "exec " + path}
	errors.As(syscall.Exec(path, argv, environ), &e.Errno)
	return e
}

func reportError(err error) {
	e := &stageError{Sandbox: true, Step: "sandbox: second stage"}
	errors.As(err, &e)
	report(encodeReport(e))
}

// report writes to the shim's pipe.
func report(b []byte) {
	for len(b) > 0 {
		n, err := syscall.Write(stageReportFD, b)
		if err != nil && err != syscall.EINTR {
			return // the shim is gone
		}
		b = b[max(n, 0):]
	}
}
