// Package sandbox turns what one session may reach into the text of its sandbox profile: a JSON policy that
// the shim applies on Linux, an SBPL profile for sandbox-exec on macOS.
//
// Build goes one way, and the files follow it:
//
//	spec.go      what is asked for, what comes out, the agenda
//	facts.go     the only door to the file system
//	place.go     where a path leads: links followed, missing parts kept, letter case as on disk
//	grant.go     the session's folders and the templates' read and read_write entries
//	program.go   what the target's own program needs to start
//	baseline.go  what every session reaches, as data
//	private.go   the places of a home folder that a wider grant does not open
//	deny.go      what stays closed whatever is granted, and what that costs
//	linux.go     rules to the shim's policy
//	sbpl.go      rules to SBPL text, sbpl_deny.go what it closes, quote.go its strings
//
// Everything up to the two renderers works on a rules value, which names real paths only; the renderers are
// pure and run, with their tests, on every system. Build writes nothing: a launch may still be refused after
// it. Folders that a template wants made are listed in the profile and made by Prepare.
package sandbox
