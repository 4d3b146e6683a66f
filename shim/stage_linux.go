package shim

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageMain is the second stage: the shim again, started by the shim, for the millisecond in which it gives up
// what the target must not have and becomes the target (X02). It returns, with an exit status, only if that
// failed; why goes to the shim through the report pipe, and nothing is ever printed.
//
// Everything here binds the calling thread and what that thread becomes, hence the lock. execve ends the other
// threads, which were never confined.
func stageMain(args, environ []string) (status int) {
	runtime.LockOSThread()
	defer func() {
		if recover() != nil {
			tell(&stageError{Sandbox: true, Step: "sandbox: second stage", Reason: "internal error"})
			status = ExitUsage
		}
	}()
	tell(becomeTarget(args, environ))
	return ExitUsage
}

// becomeTarget is the agenda of the second stage.
func becomeTarget(args, environ []string) error {
	quiet()
	s, err := decodeStage(args)
	if err != nil {
		return stageFailure("sandbox: second stage", err)
	}
	if err := keepDescriptors(s.token); err != nil {
		return err
	}
	policy, err := stagePolicy(s.profile)
	if err != nil {
		return err
	}
	if err := stageNetwork(policy, s.listener); err != nil {
		return err
	}
	rules, err := buildRuleset(policy)
	if err != nil {
		return err
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if err := dieWithParent(s.parent); err != nil {
		return err
	}
	if err := rules.enforce(); err != nil {
		return err
	}
	if err := loadFilter(policy.Network == NetworkModel); err != nil {
		return err
	}
	if s.oneProc {
		environ = slices.DeleteFunc(environ, isMaxProcs)
	}
	return become(s.path, s.argv, environ)
}

// quiet keeps the second stage from being read, traced or dumped by others of its user, and a ^\ that hits it
// from printing the runtime's goroutines: the default disposition just ends it. HUP, INT and TERM do so anyway.
// execve makes the target dumpable again.
func quiet() {
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	ByDefault(syscall.SIGQUIT)
}

// keepDescriptors has execve close everything above 2 but the token. That the target gets a 5 is the command
// line's word: without a token the runtime may hold a descriptor of its own at 5.
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

// stagePolicy reads the policy from the file that the shim opened and checked.
func stagePolicy(name string) (*Policy, error) {
	data, err := readAllProfile(os.NewFile(stageProfileFD, name))
	if err != nil {
		return nil, badProfile(name, err)
	}
	policy, err := ParsePolicy(data)
	if err != nil {
		return nil, badProfile(name, err)
	}
	return policy, nil
}

// dropPrivileges leaves the target no capability and no way to one (X08, X10): not by inheritance, not by being
// root, which only the bounding set and no_new_privs stop, and not through a setuid program.
func dropPrivileges() error {
	for c := uintptr(0); ; c++ {
		// EINVAL: past the kernel's last one. EPERM: an ordinary user, for whom no_new_privs is enough.
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

// dieWithParent arms the parent-death signal on this thread (S19): it is a thread's setting, the start armed the
// one that the process began with, and execve keeps that of the thread which calls it. A parent that is gone
// already sends none, so that is looked at afterwards.
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

// become executes the target. The mask is the target's from here on (S17); syscall.Exec gives back the limit of
// open files that the runtime raised.
func become(path string, argv, environ []string) error {
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	report([]byte{reportMark})
	e := &stageError{Step: "exec " + path}
	errors.As(syscall.Exec(path, argv, environ), &e.Errno)
	return e
}

// tell sends an error to the shim.
func tell(err error) {
	e := &stageError{Sandbox: true, Step: "sandbox: second stage"}
	errors.As(err, &e)
	report(encodeReport(e))
}

// report writes to the shim's pipe.
func report(b []byte) {
	for len(b) > 0 {
		n, err := syscall.Write(stageReportFD, b)
		if err != nil && err != syscall.EINTR {
			return // no shim to tell
		}
		b = b[max(n, 0):]
	}
}
