package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Process is what the system says of a process. Start tells it from a later one of the same number.
type Process struct {
	Parent  int
	Session int // of its terminal session; its leader's number
	Start   string
	Ended   bool // and not yet reaped
}

// bootID is part of each start time, which counts from the machine's start and would mean another moment after the next.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

// ProcessOf asks the system about a process. One that has ended is an error.
func ProcessOf(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	p, err := parseStat(stat)
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	p.Start = bootID() + " " + p.Start
	return p, nil
}

var errStat = errors.New("unreadable stat")

// parseStat reads /proc/PID/stat. The name stands in parentheses and may hold any character.
func parseStat(stat []byte) (p Process, err error) {
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte{' '})
	fields := strings.Fields(string(rest)) // from the third on: state, parent, group, session …
	if len(fields) < 20 {
		return p, errStat
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil {
		return p, errStat
	}
	return Process{parent, session, fields[19], fields[0] == "Z" || fields[0] == "X"}, nil
}

// OwnChildren lists the children of this process.
func OwnChildren() (list []int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	if len(files) == 0 { // a kernel without these files
		return scanChildren(os.Getpid())
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

func scanChildren(parent int) (list []int) {
	files, _ := filepath.Glob("/proc/[1-9]*")
	for _, file := range files {
		if pid, err := strconv.Atoi(filepath.Base(file)); err == nil {
			if p, err := ProcessOf(pid); err == nil && p.Parent == parent {
				list = append(list, pid)
			}
		}
	}
	return list
}

// MoreFilters says whether a process has more system-call filters than this one. A kernel before 5.9 does not count them:
// there any filter, with no_new_privs, is one more.
func MoreFilters(pid int) (bool, error) {
	if set, err := NoNewPrivs(pid); !set || err != nil {
		return false, err
	}
	var count [2]int
	for i, name := range []string{strconv.Itoa(pid), "self"} {
		status, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil {
			return false, err
		}
		_, rest, ok := bytes.Cut(status, []byte("\nSeccomp_filters:\t"))
		if !ok {
			_, rest, _ = bytes.Cut(status, []byte("\nSeccomp:\t"))
			return !bytes.HasPrefix(rest, []byte("0")), nil
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if count[i], err = strconv.Atoi(string(bytes.TrimSpace(line))); err != nil {
			return false, err
		}
	}
	return count[0] > count[1], nil
}

// NoNewPrivs reads the flag of that name; pid 0 is this process.
func NoNewPrivs(pid int) (bool, error) {
	name := "self"
	if pid > 0 {
		name = strconv.Itoa(pid)
	}
	status, err := os.ReadFile("/proc/" + name + "/status")
	if err != nil {
		return false, err
	}
	_, rest, ok := bytes.Cut(status, []byte("\nNoNewPrivs:\t"))
	if !ok || len(rest) == 0 {
		return false, fmt.Errorf("process %s: no NoNewPrivs in its status", name)
	}
	return rest[0] != '0', nil
}
