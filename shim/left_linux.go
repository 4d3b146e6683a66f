package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a sandboxed target left running would keep the terminal, and read there what the user types next. It would also
// keep the credential and the network. So the shim ends it with the session, however far it forked away (X13).

// becomeSubreaper makes this process the parent of every descendant that loses its own. Children that it has already are
// its caller's: a shell starts the other end of 4> >(cat) and then becomes this program. Children of those may become this
// process's later. The time when each began is kept with its number, which the target could get once it is free.
func becomeSubreaper() (callers map[int]uint64) {
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) != unix.ECHILD {
		callers = map[int]uint64{}
		for _, pid := range listProcesses(os.Getpid()) {
			if p, err := openProcess(pid); err == nil {
				unix.Close(p.dir)
				callers[pid] = p.began
			}
		}
	}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return callers
}

// maxEnding is how long the shim tries. A process in an uninterruptible wait must not hold up the session's end for ever.
const maxEnding = 10 * time.Second

// endDescendants ends every descendant, and names in a warning those that it could not end. The target must be reaped
// by then.
//
// Each round stops all descendants, then kills them all, then looks again. A stopped process cannot fork, nor notice
// that another one died and replace it. Orphans become children of this process, so no children means no descendants, and
// none but the callers' means none of the target's.
func endDescendants(callers map[int]uint64) {
	var left []string
	spare := func(p process) bool { began, is := callers[p.pid]; return is && began == p.began }
	for deadline := time.Now().Add(maxEnding); reapChildren(callers); time.Sleep(time.Millisecond) {
		if left != nil && time.Now().After(deadline) {
			warn(fmt.Sprintf("not ended within %v: %s", maxEnding, strings.Join(left, ", ")))
			return
		}
		left = killAll(deadline, spare)
		if len(left) == 0 && len(callers) > 0 {
			return
		}
	}
}

// EndOrphans does the same for a host: it spares some of its children, with all that descends from them, and reaps
// elsewhere. It returns those that it could not end in time.
func EndOrphans(within time.Duration, spare func(pid int) bool) (left []string) {
	for deadline := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		if left = killAll(deadline, func(p process) bool { return spare(p.pid) }); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// killAll stops all descendants, then kills and names them.
func killAll(deadline time.Time, spare func(process) bool) []string {
	names := []string{}
	for _, p := range freeze(deadline, spare) {
		p.signal(unix.SIGKILL)
		unix.Close(p.dir)
		names = append(names, fmt.Sprintf("%d %q", p.pid, p.name))
	}
	return names
}

// reapChildren reaps every child that has ended, strikes it from the callers', and says whether there are others.
func reapChildren(callers map[int]uint64) bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.ECHILD {
			return false
		}
		if pid <= 0 && err != unix.EINTR {
			return true
		}
		delete(callers, pid)
	}
}

// freeze stops every descendant. It lists the processes again until a list has no new descendant, so that all are stopped
// at one moment. A second list takes microseconds, because only new processes are examined. A program that keeps forking
// and exiting is not quicker than that for long.
func freeze(deadline time.Time, spare func(process) bool) (found []process) {
	self, err := os.Readlink("/proc/self") // not Getpid: /proc may be that of an outer process namespace
	if err != nil {
		return nil
	}
	f := family{spare: spare}
	f.self, _ = strconv.Atoi(self)
	f.member = map[int]bool{f.self: false}
	stopped := map[int]bool{}
	for more := true; more; more = more && time.Now().Before(deadline) { // once at least, to name what is there
		more = false
		for _, pid := range listProcesses(f.self) {
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
	spare  func(process) bool // of the children
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
			member = p.parent == f.self && !f.spare(p)
		}
		for _, pid := range line {
			f.member[pid] = member
		}
		return member
	}
}

// listProcesses lists process numbers, every descendant of self among them. Where the kernel lists children the list holds
// no others: when hundreds of sessions end at once, it takes seconds to look at every process of the machine in each.
func listProcesses(self int) (pids []int) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", self, self)); err == nil {
		return appendDescendants(nil, self)
	}
	for _, name := range names("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// appendDescendants appends the children of pid, each followed by its own. The kernel may leave some out while others
// exit; a later list has them.
func appendDescendants(list []int, pid int) []int {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	for _, task := range names(tasks) {
		text, _ := os.ReadFile(tasks + "/" + task + "/children")
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				list = appendDescendants(append(list, child), child)
			}
		}
	}
	return list
}

func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// process is one process, and its open folder in /proc. The folder stands for this process alone, even after its number
// has gone to another one.
type process struct {
	pid    int
	name   string
	parent int
	began  uint64 // in ticks after the machine's start
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

// parseStat reads "PID (NAME) STATE PARENT …", and the time of its start in field 22. The name can hold anything, also blanks and brackets: the last bracket
// ends it.
func parseStat(data []byte) (p process, err error) {
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return p, unix.EINVAL
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 20 {
		return p, unix.EINVAL
	}
	if p.pid, err = strconv.Atoi(string(bytes.TrimSpace(data[:begin]))); err != nil {
		return p, err
	}
	p.name = string(data[begin+1 : end])
	if p.parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return p, err
	}
	p.began, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err
}
