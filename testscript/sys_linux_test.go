package testscript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process that belongs to a script.
type process struct {
	pid, parent int
	root        int // the unreaped started program it descends from, if any
	state       byte
	args        string
	environ     []byte
}

// ownProcesses are the programs that the script started and has not seen end, all that descends from them,
// and whatever carries the script's $WORK in its environment or works in it.
func (s *script) ownProcesses() []process {
	roots := s.roots()
	all := map[int]process{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		end := bytes.LastIndexByte(stat, ')')
		if err != nil || end < 0 {
			continue
		}
		fields := strings.Fields(string(stat[end+1:]))
		p := process{state: fields[0][0]}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(fields[1])
		all[p.pid] = p
	}
	var own []process
	for pid, p := range all {
		if pid == os.Getpid() {
			continue
		}
		for up := pid; up > 1 && p.root == 0; up = all[up].parent {
			if roots[up] {
				p.root = up
			}
		}
		dir := fmt.Sprintf("/proc/%d", pid)
		p.environ, _ = os.ReadFile(dir + "/environ")
		if p.root == 0 && !bytes.Contains(p.environ, []byte("WORK="+s.work+"\x00")) {
			cwd, _ := os.Readlink(dir + "/cwd")
			if cwd != s.work && !strings.HasPrefix(cwd, s.work+"/") {
				continue
			}
		}
		args, _ := os.ReadFile(dir + "/cmdline")
		p.args = strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))
		own = append(own, p)
	}
	return own
}

// cmdFdtable lists the descriptors of a live process of the script's as the last output.
func cmdFdtable(s *script, c *call) error {
	pid, err := s.pid(c.args[0])
	if err != nil {
		return err
	}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var numbers []int
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var text strings.Builder
	for _, n := range numbers {
		path := dir + strconv.Itoa(n)
		link, err := os.Readlink(path)
		if err != nil {
			continue
		}
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, n))
		fmt.Fprintf(&text, "fd %d: %s%s\n", n, fdKind(link, path), fdFlags(string(info)))
	}
	s.printed(text.String())
	return nil
}

func fdKind(link, path string) string {
	kind, _, _ := strings.Cut(link, ":[")
	switch {
	case strings.HasPrefix(link, "anon_inode:"):
		return strings.Trim(strings.TrimPrefix(link, "anon_inode:"), "[]")
	case !strings.HasPrefix(link, "/"):
		return kind
	case strings.HasPrefix(link, "/dev/pts/"):
		return "tty"
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return link
	case info.IsDir():
		return "dir " + link
	case info.Mode()&os.ModeDevice != 0:
		return "dev " + link
	}
	return "file " + link
}

func fdFlags(info string) string {
	_, rest, _ := strings.Cut(info, "flags:\t")
	text, _, _ := strings.Cut(rest, "\n")
	flags, _ := strconv.ParseInt(text, 8, 64)
	out := []string{" r", " w", " rw", ""}[flags&syscall.O_ACCMODE]
	if flags&syscall.O_NONBLOCK != 0 {
		out += " nonblock"
	}
	if flags&syscall.O_CLOEXEC != 0 {
		out += " cloexec"
	}
	return out
}

// openTerminal makes a pseudo-terminal: the script's side and the programs'.
func openTerminal() (p [2]int, err error) {
	if p[0], err = syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err != nil {
		return p, err
	}
	var n uint32
	if err = unix.IoctlSetPointerInt(p[0], unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetUint32(p[0], unix.TIOCGPTN)
	}
	if err == nil {
		p[1], err = syscall.Open(fmt.Sprintf("/dev/pts/%d", n), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	return p, err
}

// landlockVersion is the kernel's; 0: none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}
