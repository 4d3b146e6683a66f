package main

import "golang.org/x/sys/unix"

// oldModeCalls are those that newer architectures do not have.
var oldModeCalls = []modeCall{
	{"chmod", func(path string, mode uint32) error {
		return onFile(path, func(int) error { return call(unix.SYS_CHMOD, uintptr(text(path)), uintptr(mode)) })
	}},
	{"creat", func(path string, mode uint32) error { return call(unix.SYS_CREAT, uintptr(text(path)), uintptr(mode)) }},
	{"open", func(path string, mode uint32) error {
		return call(unix.SYS_OPEN, uintptr(text(path)), unix.O_CREAT|unix.O_WRONLY, uintptr(mode))
	}},
	{"mkdir", func(path string, mode uint32) error { return call(unix.SYS_MKDIR, uintptr(text(path)), uintptr(mode)) }},
	{"mknod", func(path string, mode uint32) error {
		return call(unix.SYS_MKNOD, uintptr(text(path)), uintptr(unix.S_IFREG|mode), 0)
	}},
}
