//go:build !linux

package main

import "errors"

func run(string, []string) (int, error) { return 0, errors.New("only Linux has Landlock") }
