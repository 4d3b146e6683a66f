//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func machine() string {
	kind := fmt.Sprintf("%d %s CPUs", runtime.NumCPU(), runtime.GOARCH)
	info, _ := os.ReadFile("/proc/cpuinfo")
	if i := bytes.Index(info, []byte("model name")); i >= 0 {
		line, _, _ := strings.Cut(string(info[i:]), "\n")
		_, name, _ := strings.Cut(line, ": ")
		kind += " (" + name + ")"
	}
	if bytes.Contains(info, []byte(" hypervisor")) {
		kind += ", a virtual machine"
	}
	return kind
}

// cpuidCost measures what the loader of a C library does a few dozen times at each start of a program: asking the
// processor what it is. Under most hypervisors every such question leaves the virtual machine, which makes C
// programs, the references among them, slower to start than on hardware. Here it is seen from outside, as the time
// of a program that does little else.
func cpuidCost() string {
	var best time.Duration
	for range 20 {
		took, _, err := runProgram(spec{argv: []string{"/bin/true"}})
		if err != nil {
			return "no /bin/true"
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return fmt.Sprintf("/bin/true alone takes %d µs at best", best.Microseconds())
}

// noteBusy flags a table that was taken beside other work: a program that does nothing took much longer than at best.
func (t *table) noteBusy(trues samples) {
	best, median := trues.quantile(0), trues.median()
	note := fmt.Sprintf("/bin/true: median %.0f µs, %.0f at best", median, best)
	if median > 1.5*best {
		note = "**busy**: " + note + "; ratios hold roughly, times do not"
	}
	t.notes = append(t.notes, note+".")
}

func cString(b []int8) string {
	var s strings.Builder
	for _, c := range b {
		if c == 0 {
			break
		}
		s.WriteByte(byte(c))
	}
	return s.String()
}

func firstField(path string) string {
	data, _ := os.ReadFile(path)
	field, _, _ := strings.Cut(string(data), " ")
	return field
}

// raiseFiles lets this process, and what it starts, open as many files as thousands of sessions need, or as the system
// allows it.
func raiseFiles() {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return
	}
	l.Max = max(l.Max, 1<<17)
	l.Cur = l.Max
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &l) != nil && unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
	}
}
