package main

import (
	"errors"
	"io"
	"os"
	"syscall"
)

func log(args []string) int {
	f := newFlags("log")
	follow := f.Bool("f", false, "go on until the session ends")
	c, code, ok := f.connect(args, 1)
	if !ok {
		return code
	}
	output, err := c.Log(f.Arg(0), *follow)
	if err != nil {
		return fail(err)
	}
	defer output.Close()
	if _, err := io.Copy(os.Stdout, output); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fail(err)
	}
	return 0
}
