package shim

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors of the second stage. The token keeps its number through to the target.
const (
	stageReportFD   = 3
	stageListenerFD = 4 // host's Unix socket, if there is one
	stageProfileFD  = 6
)

// sandboxed turns cmd, which would start the target, into one that starts the shim's own second stage, which
// confines itself and becomes the target (X02). Start it with startStage, then call started and wait on the
// report. With a listener socket the second stage, and so the target, gets a network of its own (X09).
func sandboxed(cmd *exec.Cmd, profile string, token, listener *os.File) (*stageReport, error) {
	file, err := openProfile(profile)
	if err != nil {
		return nil, err
	}
	read, write, err := pollablePipe()
	if err != nil {
		file.Close()
		return nil, stageFailure("sandbox: second stage", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	s := stageArgs{token: token != nil, listener: listener != nil, profile: profile, path: cmd.Path, argv: cmd.Args}
	if s.oneProc = cmd.Env != nil && !slices.ContainsFunc(cmd.Env, isMaxProcs); s.oneProc {
		cmd.Env = append(cmd.Env, EnvMaxProcs+"=1") // it never has two things to do: a tenth of its time, and fewer threads
	}
	if cmd.SysProcAttr.Pdeathsig != 0 {
		s.parent = os.Getpid()
	}
	if listener != nil {
		ownNetwork(cmd.SysProcAttr)
	}
	cmd.Path, cmd.Args = "/proc/self/exe", s.encode()
	cmd.ExtraFiles = []*os.File{write, listener, token, file} // 3, 4, 5, 6
	return &stageReport{read: read, close: []*os.File{write, file}}, nil
}

// pollablePipe is os.Pipe. With its first one the runtime starts its poller, which takes two descriptors more, and ends
// the program with a dump of its goroutines if there are none: so whether there are four is tried before.
func pollablePipe() (read, write *os.File, err error) {
	var one, two [2]int
	if err := syscall.Pipe2(one[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	err = syscall.Pipe2(two[:], syscall.O_CLOEXEC)
	if err == nil {
		syscall.Close(two[0])
		syscall.Close(two[1])
	}
	syscall.Close(one[0])
	syscall.Close(one[1])
	if err != nil {
		return nil, nil, err
	}
	return os.Pipe()
}

// startStage is cmd.Start for a command that sandboxed rewrote, and for any other.
//
// A child in a user namespace of its own waits for this process to write its id maps. The files belong to root
// while the shim is not dumpable (S21), so an ordinary user's shim is dumpable for this moment: it holds no
// secret then, the identity's bytes are wiped after Hello and the token never was in its memory.
func startStage(cmd *exec.Cmd) error {
	if !isStage(cmd.Args) {
		return cmd.Start()
	}
	flags := cmd.SysProcAttr.Cloneflags
	if was, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && was == 0 && flags&unix.CLONE_NEWUSER != 0 {
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
		defer unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	err := cmd.Start()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.E2BIG): // the target's arguments, which it would not have got either
		return &stageError{Errno: unix.E2BIG, Step: "exec"}
	case flags&unix.CLONE_NEWNET != 0:
		return networkFailure(err)
	}
	return stageFailure("sandbox: second stage", err)
}

// SandboxSupported says why this system cannot confine a target, nil if it can (X03).
func SandboxSupported() error {
	if _, err := landlockABI(); err != nil {
		return err
	}
	return seccompSupported()
}

// LandlockABI is the version of Landlock that the kernel has, 0 for none.
func LandlockABI() int {
	abi, _ := landlockABI()
	return abi
}

// stageArgs is the command line of the second stage.
type stageArgs struct {
	parent          int // the shim, whose end ends the target; 0: not asked for
	token, listener bool
	oneProc         bool   // GOMAXPROCS is the second stage's own
	profile         string // for messages: the file itself comes on a descriptor
	path            string
	argv            []string
}

func isMaxProcs(kv string) bool { return strings.HasPrefix(kv, EnvMaxProcs+"=") }

// stageName is argv[0] of the second stage. Whoever starts the shim under this name only confines himself.
const stageName = "shim: sandbox stage"

func isStage(args []string) bool { return len(args) > 0 && args[0] == stageName }

func (s *stageArgs) encode() []string {
	has := "-"
	if s.token {
		has += "t"
	}
	if s.listener {
		has += "l"
	}
	if s.oneProc {
		has += "p"
	}
	return append([]string{stageName, strconv.Itoa(s.parent), has, s.profile, s.path}, s.argv...)
}

func decodeStage(args []string) (*stageArgs, error) {
	if len(args) < 6 {
		return nil, errors.New("too few arguments")
	}
	parent, err := strconv.Atoi(args[1])
	if err != nil || parent < 0 {
		return nil, errors.New("no process id")
	}
	if strings.Trim(args[2], "-tlp") != "" {
		return nil, errors.New("unknown letter")
	}
	return &stageArgs{
		parent:   parent,
		token:    strings.Contains(args[2], "t"),
		listener: strings.Contains(args[2], "l"),
		oneProc:  strings.Contains(args[2], "p"),
		profile:  args[3],
		path:     args[4],
		argv:     args[5:],
	}, nil
}
