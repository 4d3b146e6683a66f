package shim

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stageError is a target that did not start because of its sandbox, or, without Sandbox, because of its own exec.
type stageError struct {
	Sandbox bool
	Errno   syscall.Errno // 0: no system call failed
	Step    string        // what was being done, and to what
	Reason  string        // why, where the errno does not say it; or the cure
}

func (e *stageError) Error() string {
	text := e.Step
	if e.Errno != 0 {
		text += ": " + e.Errno.Error()
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func (e *stageError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// stageFailure names the step that failed.
func stageFailure(step string, err error) error {
	e := &stageError{Sandbox: true, Step: step}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	return e
}

// stageReport is the shim's side of the pipe on which the second stage says how far it came: nothing and the
// end, it died; a mark and the end (the exec closed the pipe), the target runs; a record, why it does not.
type stageReport struct {
	read  *os.File   // non-blocking: reading it holds no thread
	close []*os.File // what the second stage got and the shim keeps no copy of
}

const (
	reportMark = 'x'
	maxReport  = 16 << 10 // a record names at most one path
)

// started closes the child's ends; without that the end of the pipe would never be seen.
func (r *stageReport) started() {
	if r == nil {
		return
	}
	for _, f := range r.close {
		f.Close()
	}
	r.close = nil
}

// wait returns nil once the target runs, a *stageError if it does not.
func (r *stageReport) wait() error {
	if r == nil {
		return nil
	}
	defer r.read.Close()
	var data []byte
	var start [4]byte // a mark and the end: the rest of a session needs no memory for them
	n, err := io.ReadFull(r.read, start[:])
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r.read, maxReport))
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return stageFailure("sandbox: second stage", err)
	}
	return decodeReport(append(start[:n:n], data...))
}

// encodeReport makes the record of an error: E, the errno, s or x, then step and reason, a line each.
func encodeReport(e *stageError) []byte {
	kind := "x"
	if e.Sandbox {
		kind = "s"
	}
	text := "E" + strconv.Itoa(int(e.Errno)) + " " + kind + "\n" + oneLine(e.Step) + "\n" + oneLine(e.Reason) + "\n"
	return []byte(text)
}

// decodeReport reads what came through the pipe until its end.
func decodeReport(data []byte) error {
	text := string(data)
	if text == "" {
		return &stageError{Sandbox: true, Step: "sandbox: second stage died"}
	}
	text = strings.TrimPrefix(text, string(reportMark))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	first, record := strings.CutPrefix(lines[0], "E")
	number, kind, _ := strings.Cut(first, " ")
	errno, err := strconv.ParseUint(number, 10, 16)
	if !record || err != nil || len(lines) != 4 || (kind != "s" && kind != "x") || lines[3] != "" {
		return &stageError{Sandbox: true, Step: "sandbox: second stage", Reason: "unreadable report"}
	}
	return &stageError{Sandbox: kind == "s", Errno: syscall.Errno(errno), Step: lines[1], Reason: lines[2]}
}

// oneLine keeps a path with a line break in it from looking like a second line, and a record within its limit.
func oneLine(s string) string {
	if len(s) > maxReport/4 {
		s = s[:maxReport/4] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
