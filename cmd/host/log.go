package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

func log(args []string) int {
	f := newFlags("log")
	follow := f.Bool("f", false, "go on until the session ends")
	since := f.Uint64("since", 0, "`BYTES` of output to leave out: those that you have")
	c, code, ok := f.connect(args, 1)
	if !ok {
		return code
	}
	v, code, ok := find(c, f.Arg(0))
	if !ok {
		return code
	}
	output, err := c.Log(v.SessionID, *follow, *since)
	if err != nil {
		return fail(err)
	}
	defer output.Close()
	_, err = io.Copy(os.Stdout, output)
	switch {
	case err == nil || errors.Is(err, syscall.EPIPE):
		return 0
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("session %q: the output broke off: %s, or the host ended", v.SessionID, tooSlow)
	}
	return fail(err)
}
