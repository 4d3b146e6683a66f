package state

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Process is what the system says of a process. Start tells it from a later one of the same number.
type Process struct {
	Parent  int
	Session int // of its terminal session; its leader's number
	Start   string
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
	// The name stands in parentheses and may hold any character.
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte{' '})
	fields := strings.Fields(string(rest)) // from the third on: state, parent, group, session …
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil {
		return Process{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	return Process{parent, session, bootID() + " " + fields[19]}, nil
}
