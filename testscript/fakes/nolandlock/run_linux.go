package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// run starts the program under a filter that answers for landlock_create_ruleset, and waits for it.
func run(answer string, argv []string) (status int, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(answer)
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	if answer == "KILL" {
		version = kill
	} else if err != nil {
		errno := map[string]unix.Errno{"ENOSYS": unix.ENOSYS, "EOPNOTSUPP": unix.EOPNOTSUPP}[answer]
		if errno == 0 {
			return 0, fmt.Errorf("unknown answer %q", answer)
		}
		action = unix.SECCOMP_RET_ERRNO | uint32(errno)
	}
	// The filter binds this thread and the program that it starts; the one that answers is another.
	runtime.LockOSThread()
	listener, err := load(action)
	if err != nil {
		return 0, err
	}
	if listener >= 0 {
		go answerAll(listener, int64(version))
	}
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	state, err := process.Wait()
	if err != nil {
		return 0, err
	}
	if ws := state.Sys().(interface{ Signal() unix.Signal }); !state.Exited() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil
}

// load binds the thread. With an action that asks somebody, whom to ask comes back.
func load(action uint32) (listener int, err error) {
	// A version is asked for with a flag; the ruleset itself is made without one.
	const flagsLow = 16 + 8*2
	onlyVersion := uint8(1)
	if action != unix.SECCOMP_RET_USER_NOTIF {
		onlyVersion = 0
	}
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flagsLow},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.LANDLOCK_CREATE_RULESET_VERSION, Jf: onlyVersion},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	flags := uintptr(0)
	if onlyVersion == 1 {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	if flags == 0 {
		return -1, nil
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}

// kill is the answer that ends a second stage of the shim.
const kill = -1

// answerAll says the version to whoever asks. An error means that the one who asked is gone.
func answerAll(listener int, version int64) {
	var ask struct { // struct seccomp_notif
		id         uint64
		pid, flags uint32
		data       [64]byte
	}
	var answer struct { // struct seccomp_notif_resp
		id    uint64
		value int64
		error int32
		flags uint32
	}
	for {
		ask.id, ask.pid, ask.flags, ask.data = 0, 0, 0, [64]byte{}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&ask))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT {
				continue
			}
			return
		}
		answer.id, answer.value, answer.flags = ask.id, version, 0
		if version == kill {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", ask.pid))
			if strings.HasPrefix(string(name), "shim: sandbox stage") {
				unix.Kill(int(ask.pid), unix.SIGKILL)
			}
			answer.value, answer.flags = 0, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}
