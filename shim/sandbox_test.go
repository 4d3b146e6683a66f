package shim

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

func TestStageReport(t *testing.T) {
	mark := reportExec
	record := func(e *stageError) string { return string(encodeReport(e)) }
	exec := &stageError{Errno: syscall.EACCES, Step: "exec /x"}
	for _, c := range []struct{ name, data, want string }{
		{"died", "", "sandbox: second stage died"},
		{"started", mark, ""},
		{"exec failed", mark + record(exec), "exec /x: permission denied"},
		{"step failed", record(&stageError{Sandbox: true, Errno: syscall.EINVAL, Step: "sandbox: landlock", Reason: "cure"}), "sandbox: landlock: invalid argument: cure"},
		{"no errno", record(&stageError{Sandbox: true, Step: "sandbox profile /x", Reason: "no object"}), "sandbox profile /x: no object"},
		{"line breaks", record(&stageError{Sandbox: true, Step: "grant /a\nb\x1b", Reason: "r"}), "grant /a?b?: r"},
		{"cut short", record(exec)[:8], "sandbox: second stage: unreadable report"},
		{"no record", "\n", "sandbox: second stage: unreadable report"},
		{"twice", record(exec) + record(exec), "sandbox: second stage: unreadable report"},
	} {
		text := ""
		if err := decodeReport([]byte(c.data)); err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
	var got *stageError
	if !errors.As(decodeReport([]byte(mark+record(exec))), &got) || got.Sandbox || !errors.Is(got, syscall.EACCES) {
		t.Errorf("an exec failure came as %+v", got)
	}
	if n := len(encodeReport(&stageError{Step: strings.Repeat("x", 1<<20)})); n > maxReport {
		t.Errorf("a record of %d bytes", n)
	}
}

// Only the one word means that the target runs, whatever else comes through the pipe.
func FuzzDecodeReport(f *testing.F) {
	f.Add([]byte("exec\ntarget 2\nexec /x\n\n"))
	f.Add([]byte("sandbox 1\na\nb\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := decodeReport(data); (err == nil) != (string(data) == reportExec) {
			t.Errorf("%q: %v", data, err)
		}
	})
}
