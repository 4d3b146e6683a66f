package main

import (
	"io"
	"os"
)

func launch(args []string) int {
	f := newFlags("launch")
	c, code, ok := f.connect(args, 1)
	if !ok {
		return code
	}
	request := os.Stdin
	if name := f.Arg(0); name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fail(err)
		}
		defer file.Close()
		request = file
	}
	answer, err := c.PostLaunch(request)
	if err != nil {
		return fail(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		return fail(err)
	}
	return 0
}
