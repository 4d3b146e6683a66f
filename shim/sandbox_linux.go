package shim

import (
	"errors"
	"io"
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
	stageListenerFD = 4 // the host's Unix socket, if there is one
	stageProfileFD  = 6 // with a listener: what the policy says of network and mounts is for the stage
	stageReadyFD    = 7 // a byte comes once the ruleset is complete, or the end if it cannot be
	stageRulesFD    = 8
)

// sandboxed rewrites cmd, so that it starts the shim's second stage, which confines itself and becomes the target (X02).
// The caller then calls startCommand, closeChildEnds, release and wait. With a listener socket the second stage, and so
// the target, gets a network of its own (X09).
//
// The shim fills the ruleset while the stage's runtime starts, which takes as long. A ruleset binds nobody until the
// stage applies it to itself.
func sandboxed(cmd *exec.Cmd, profile string, token, listener *os.File) (*stageReport, error) {
	file, err := openProfile(profile)
	if err != nil {
		return nil, err
	}
	rules, err := newRuleset()
	if err != nil {
		return nil, err
	}
	var report, ready [2]int
	if err = syscall.Pipe2(report[:], syscall.O_CLOEXEC); err == nil {
		err = syscall.Pipe2(ready[:], syscall.O_CLOEXEC)
	}
	if err != nil {
		return nil, stageFailure("sandbox: second stage", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	s := stageArgs{token: token != nil, listener: listener != nil, path: cmd.Path, argv: cmd.Args}
	// The second stage never does two things at once. With one processor it has fewer threads and takes a tenth less time.
	if s.ownProcs = cmd.Env != nil && !slices.ContainsFunc(cmd.Env, isMaxProcs); s.ownProcs {
		cmd.Env = append(cmd.Env, EnvMaxProcs+"=1")
	}
	if cmd.SysProcAttr.Pdeathsig != 0 {
		s.parent = os.Getpid()
	}
	var forStage *os.File
	if listener != nil {
		forStage = file
		ownNetwork(cmd.SysProcAttr)
	}
	cmd.Path, cmd.Args = "/proc/self/exe", s.encode()
	write, readyEnd := os.NewFile(uintptr(report[1]), "report"), os.NewFile(uintptr(ready[0]), "ready")
	cmd.ExtraFiles = []*os.File{write, listener, token, forStage, readyEnd, os.NewFile(uintptr(rules.fd), "ruleset")} // 3 to 8
	return &stageReport{read: os.NewFile(uintptr(report[0]), "report"), childEnds: []*os.File{write, readyEnd}, prepare: func() error {
		err := rules.prepare(file, profile, listener != nil)
		if err == nil {
			unix.Write(ready[1], []byte{0}) // a stage that is gone says so by its report
		}
		unix.Close(ready[1])
		unix.Close(rules.fd)
		return err
	}}, nil
}

// prepare reads the policy and fills the ruleset.
func (r *ruleset) prepare(profile *os.File, name string, listener bool) error {
	policy, err := readPolicy(profile, name)
	if err != nil {
		return err
	}
	if err := checkNetwork(policy, listener); err != nil {
		return err
	}
	return r.fill(policy)
}

// readPolicy reads the policy from an opened and checked profile, and closes that.
func readPolicy(f *os.File, name string) (*Policy, error) {
	defer f.Close()
	data, err := readAllProfile(io.NewSectionReader(f, 0, MaxProfile+1)) // shim and second stage share the position
	if err != nil {
		return nil, badProfile(name, err)
	}
	policy, err := ParsePolicy(data)
	if err != nil {
		return nil, badProfile(name, err)
	}
	return policy, nil
}

// startCommand is cmd.Start, with what a second stage needs around it.
//
// A child in a user namespace of its own waits until this process has written its id maps. While the shim is undumpable
// (S21) those files belong to root. An ordinary user's shim is therefore dumpable during the start. It holds no secret
// then: Hello wiped the identity secret, and the token was never in its memory.
func startCommand(cmd *exec.Cmd) error {
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
	case errors.Is(err, unix.E2BIG): // the target's arguments: without a sandbox they would be too long as well
		return &stageError{Errno: unix.E2BIG, Step: "exec"}
	case flags&unix.CLONE_NEWNET != 0:
		return networkFailure(err)
	}
	return stageFailure("sandbox: second stage", err)
}

// SandboxSupported returns nil if this system can confine a target, else the reason (X03).
func SandboxSupported() error {
	if _, err := landlockABI(); err != nil {
		return err
	}
	return seccompSupported()
}

// LandlockABI is the kernel's version of Landlock; 0: none.
func LandlockABI() int {
	abi, _ := landlockABI()
	return abi
}

// stageArgs is the command line of the second stage.
type stageArgs struct {
	parent   int  // the shim, whose death ends the target; 0: not asked for
	token    bool // the target gets a token on 5
	listener bool // the host waits for the listener of a network of its own
	ownProcs bool // GOMAXPROCS is for the second stage alone, not for the target
	path     string
	argv     []string
}

// The words of stageArgs.
const (
	wordToken    = "token"
	wordListener = "listener"
	wordOwnProcs = "own-gomaxprocs"
)

func isMaxProcs(kv string) bool { return strings.HasPrefix(kv, EnvMaxProcs+"=") }

// stageName is argv[0] of the second stage. Starting the shim under this name by hand gains nothing: it only confines.
const stageName = "shim: sandbox stage"

func isStage(args []string) bool { return len(args) > 0 && args[0] == stageName }

// encode makes the command line: name, parent, words, path, then the target's arguments.
func (s *stageArgs) encode() []string {
	var words []string
	if s.token {
		words = append(words, wordToken)
	}
	if s.listener {
		words = append(words, wordListener)
	}
	if s.ownProcs {
		words = append(words, wordOwnProcs)
	}
	return append([]string{stageName, strconv.Itoa(s.parent), strings.Join(words, ","), s.path}, s.argv...)
}

func decodeStage(args []string) (*stageArgs, error) {
	if len(args) < 5 {
		return nil, errors.New("too few arguments")
	}
	parent, err := strconv.Atoi(args[1])
	if err != nil || parent < 0 {
		return nil, errors.New("no process id")
	}
	s := &stageArgs{parent: parent, path: args[3], argv: args[4:]}
	for word := range strings.SplitSeq(args[2], ",") {
		switch word {
		case "":
		case wordToken:
			s.token = true
		case wordListener:
			s.listener = true
		case wordOwnProcs:
			s.ownProcs = true
		default:
			return nil, errors.New("unknown word")
		}
	}
	return s, nil
}
