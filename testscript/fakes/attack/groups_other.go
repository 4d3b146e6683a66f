//go:build !linux

package main

// groups: the attempts are made of Linux system calls.
var groups = map[string]func(args []string) ([]attempt, error){}
