package shim

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// What a sandboxed target leaves running would keep the terminal, and read there what the user types next, a
// password say; the credential it was handed; and the network. It ends with its session, however far it forked away.

// becomeSubreaper makes this process the parent of what its descendants leave behind.
func becomeSubreaper() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// leftSeconds is how long the shim goes after what was left. A child that cannot die, or a target that forks
// faster than it is killed, must not hold the session's end up for ever.
const leftSeconds = 2

// endLeft kills what was left, once the target is reaped. Whoever loses a parent becomes a child of this process,
// until there is none.
func endLeft(childChanged <-chan os.Signal) {
	for end := time.Now().Add(leftSeconds * time.Second); time.Now().Before(end); {
		switch pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); {
		case err == unix.EINTR || pid > 0:
			continue
		case err != nil:
			return // ECHILD: nobody is left
		}
		for _, pid := range children() {
			unix.Kill(pid, unix.SIGKILL) // a child not yet waited for: its number is nobody else's
		}
		select {
		case <-childChanged:
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// children are the processes whose parent this one is.
func children() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		// The name, in brackets, can hold anything; behind it come the state and the parent.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}
