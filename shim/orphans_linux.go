package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EndOrphans ends the descendants of this process, but for the children that are spared and what descends from these. It
// returns those that were not ended within the time. Somebody else reaps.
func EndOrphans(within time.Duration, spare func(pid int) bool) (left []string) {
	for deadline := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		if left = killAll(deadline, spare); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// killAll stops all descendants, then kills them, and names them.
func killAll(deadline time.Time, spare func(pid int) bool) (names []string) {
	for _, p := range freeze(deadline, spare) {
		p.signal(unix.SIGKILL)
		unix.Close(p.dir)
		names = append(names, fmt.Sprintf("%d %q", p.pid, p.name))
	}
	return names
}

// freeze stops every descendant. It lists the processes again until a list has no new descendant. Only new processes
// are examined then, which takes microseconds. That is short enough to find a program that keeps forking and exiting.
func freeze(deadline time.Time, spare func(pid int) bool) (found []process) {
	self, err := os.Readlink("/proc/self") // not Getpid: /proc may be that of an outer process namespace
	if err != nil {
		return nil
	}
	f := family{spare: spare}
	f.self, _ = strconv.Atoi(self)
	f.member = map[int]bool{f.self: false}
	stopped := map[int]bool{}
	for more := true; more && time.Now().Before(deadline); {
		more = false
		for _, pid := range listProcesses() {
			if stopped[pid] || !f.includes(pid) {
				continue
			}
			if p, err := openProcess(pid); err == nil {
				p.signal(unix.SIGSTOP)
				found = append(found, p)
				stopped[pid], more = true, true
			}
		}
	}
	return found
}

// family is the processes that one round has examined, and whether each descends from this process.
type family struct {
	self   int
	spare  func(pid int) bool // leaves a child and its descendants alone
	member map[int]bool
}

// includes examines pid, and those of its ancestors that are new. If one of them ends meanwhile, nothing is recorded:
// pid then has another parent, and the next list finds it again.
func (f family) includes(pid int) bool {
	var line []int
	for {
		member, seen := f.member[pid]
		if !seen {
			p, err := openProcess(pid)
			if err != nil {
				return false
			}
			unix.Close(p.dir)
			line = append(line, pid)
			if p.parent > 0 && p.parent != f.self {
				pid = p.parent
				continue
			}
			member = p.parent == f.self && !f.spare(pid)
		}
		for _, pid := range line {
			f.member[pid] = member
		}
		return member
	}
}

// listProcesses lists all process numbers, in ascending order, so usually parents before their children.
func listProcesses() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// process is one process, and its open folder in /proc. The folder stands for this process alone, even after its number
// has gone to another one.
type process struct {
	pid    int
	name   string
	parent int
	dir    int
}

func openProcess(pid int) (process, error) {
	dir, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, err
	}
	fd, err := unix.Openat(dir, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		var buf [4096]byte
		var n int
		if n, err = unix.Read(fd, buf[:]); err == nil {
			var p process
			if p, err = parseStat(buf[:n]); err == nil {
				p.dir = dir
				return p, nil
			}
		}
	}
	unix.Close(dir)
	return process{}, err
}

func (p process) signal(sig unix.Signal) { unix.PidfdSendSignal(p.dir, sig, nil, 0) }

// parseStat reads "PID (NAME) STATE PARENT …". The name can hold anything, also blanks and brackets: the last bracket
// ends it.
func parseStat(data []byte) (p process, err error) {
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return p, unix.EINVAL
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 2 {
		return p, unix.EINVAL
	}
	if p.pid, err = strconv.Atoi(string(bytes.TrimSpace(data[:begin]))); err != nil {
		return p, err
	}
	p.name = string(data[begin+1 : end])
	p.parent, err = strconv.Atoi(string(fields[1]))
	return p, err
}
