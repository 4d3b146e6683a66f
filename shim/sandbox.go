package shim

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stageError is why the second stage did not become the target. Sandbox says whether the sandbox failed or, if false,
// the exec of the target itself.
type stageError struct {
	Sandbox bool
	Errno   syscall.Errno // 0: no system call failed
	Step    string        // what the stage was doing, and to what
	Reason  string        // the cause, where the errno does not tell it, or the cure
}

func (e *stageError) Error() string {
	text := e.Step
	switch {
	case e.Sandbox && e.Errno == syscall.ELOOP: // one link is too many
		text += ": holds a symbolic link"
	case e.Errno != 0:
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

// stageFailure is the failure of a step of the sandbox.
func stageFailure(step string, err error) *stageError {
	e := &stageError{Sandbox: true, Step: step}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	return e
}

// stageReport is the shim's end of the pipe on which the second stage reports:
//
//	nothing, then the end: the stage died
//	"exec", then the end: the exec closed the pipe, so the target runs
//	"exec" or nothing, then a record: why the target does not run
type stageReport struct {
	read      *os.File
	childEnds []*os.File   // the second stage has these, and the shim keeps no copy
	prepare   func() error // makes what the stage waits for, and tells it so
	failed    error        // of prepare
}

const (
	reportExec = "exec\n"
	maxReport  = 16 << 10 // a record names at most one path
)

// closeChildEnds closes the shim's copies. The pipe would never end otherwise.
func (r *stageReport) closeChildEnds() {
	if r == nil {
		return
	}
	for _, f := range r.childEnds {
		f.Close()
	}
	r.childEnds = nil
}

// release does the shim's part of the sandbox while the second stage, which was started, gets ready for its own.
func (r *stageReport) release() { r.failed = r.prepare() }

// wait returns nil once the target runs, else a *stageError.
func (r *stageReport) wait() error {
	defer r.read.Close()
	err := r.result()
	if r.failed != nil {
		return r.failed // the stage only ended because of it
	}
	return err
}

// result reads the report to its end.
func (r *stageReport) result() error {
	var data []byte
	// In the usual case this buffer takes all. ReadAll would keep more memory for as long as the session lives.
	var start [len(reportExec) + 1]byte
	n, err := io.ReadFull(r.read, start[:])
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r.read, maxReport))
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return stageFailure("sandbox: second stage", err)
	}
	return decodeReport(append(start[:n:n], data...))
}

var errStageDied = &stageError{Sandbox: true, Step: "sandbox: second stage died"}

// encodeReport makes the record of an error: what failed and the errno, then the step, then the reason, a line each.
func encodeReport(e *stageError) []byte {
	what := "target"
	if e.Sandbox {
		what = "sandbox"
	}
	return []byte(what + " " + strconv.Itoa(int(e.Errno)) + "\n" + oneLine(e.Step) + "\n" + oneLine(e.Reason) + "\n")
}

// decodeReport reads everything that came through the pipe.
func decodeReport(data []byte) error {
	text := string(data)
	if text == "" {
		return errStageDied
	}
	text = strings.TrimPrefix(text, reportExec)
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	what, number, _ := strings.Cut(lines[0], " ")
	errno, err := strconv.ParseUint(number, 10, 16)
	if err != nil || len(lines) != 4 || (what != "sandbox" && what != "target") || lines[3] != "" {
		return &stageError{Sandbox: true, Step: "sandbox: second stage", Reason: "unreadable report"}
	}
	return &stageError{Sandbox: what == "sandbox", Errno: syscall.Errno(errno), Step: lines[1], Reason: lines[2]}
}

// oneLine makes text fit one line of a message and of a record: a path may hold line breaks, and be long.
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
