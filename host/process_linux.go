package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// process is what the system says of a process. Start tells it from a later one of the same number.
type process struct {
	parent, session int
	start           string
}

// bootID keeps a start time, which counts from the machine's start, from meaning something after the next one.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

func processOf(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	// The name stands in parentheses and may hold any character.
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte{' '})
	fields := strings.Fields(string(rest)) // from the third on: state, parent, group, session …
	if len(fields) < 20 {
		return process{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil {
		return process{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	return process{parent, session, bootID() + " " + fields[19]}, nil
}
