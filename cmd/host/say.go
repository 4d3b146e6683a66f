package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hostshim/host/client"
	"hostshim/host/settings"
	"hostshim/host/wire"
	"hostshim/shim"
)

// called is the name that this program was called by: it may be installed beside another program called host.
func called() string { return filepath.Base(cmp.Or(os.Args[0], "host")) }

// inOwnName is a text that names commands of this program, by the name that it was called by. No regular expression does it:
// that package is a quarter of a megabyte.
func inOwnName(text string) string {
	inWord := func(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	parts := strings.Split(text, "host ")
	for i, after := range parts[1:] {
		last, _ := utf8.DecodeLastRuneInString(parts[i])
		word := after[:len(after)-len(strings.TrimLeftFunc(after, inWord))]
		name := "host "
		if last != '-' && !inWord(last) && slices.ContainsFunc(commands(), func(c command) bool { return c.name == word }) {
			name = called() + " "
		}
		parts[i+1] = name + after
	}
	return strings.Join(parts, "")
}

func warn(text string) { say("warning", inOwnName(text)) }

func usageError(text, cure string) int {
	say("error", text)
	hint(cure)
	return shim.ExitUsage
}

func hint(text string) { say("hint", text) }

func say(kind, text string) {
	fmt.Fprintf(os.Stderr, "%s: %s: %s\n", oneLine(called()), kind, oneLine(text))
}

// oneLine keeps what a message quotes, a path say, from looking like a second message and from steering the terminal.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, strings.ReplaceAll(text, "\n", "; "))
}

// nearest names the one of known that a person most likely meant, as the end of an error; "": none is near.
func nearest(word string, known []string) string {
	if near := settings.Near(word, known); near != "" {
		return fmt.Sprintf(", the nearest is %q", near)
	}
	return ""
}

// fail prints err and is the exit status for it: the same for the same fault, whichever command met it (U02).
func fail(err error) int {
	var coded *wire.Error
	if errors.As(err, &coded) && failed(coded.Code) {
		say("error", coded.Message)
		return 1
	}
	say("error", inOwnName(err.Error()))
	var noHost *client.NoHost
	switch {
	case errors.As(err, &noHost):
		hint("start one: " + called() + " serve")
	case coded != nil:
		return refusedStatus(coded)
	}
	return 1
}

// failed says whether a code is of a request that came to nothing, and not of a launch that was refused.
func failed(code string) bool {
	switch code {
	case wire.SessionUnknown, wire.SessionEnded, wire.NotPossible, wire.TooLarge:
		return true
	}
	return false
}

// refusedStatus is how a launch ends that did not happen. A target that is not there, or cannot start, ends it as the shim
// would have.
func refusedStatus(e *wire.Error) int {
	if e.Code == wire.SpawnFailed && e.ExitStatus != 0 {
		return e.ExitStatus
	}
	return shim.ExitRefused
}
