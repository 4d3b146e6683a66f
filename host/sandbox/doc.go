// Package sandbox turns what one session may reach into the text of its sandbox profile: a JSON policy that
// the shim applies on Linux, an SBPL profile for sandbox-exec on macOS.
//
// Build goes one way, and the files follow it:
//
//	spec.go      what is asked for, what comes out, the agenda
//	facts.go     the only door to the file system
//	place.go     where a path leads: links followed, missing parts kept, letter case as stored
//	grant.go     the session's folders and the templates' read and read_write entries
//	program.go   what the target's own program needs to start
//	baseline.go  what every session reaches, as data
//	private.go   the places of a home folder that a wider grant does not open
//	deny.go      what stays closed whatever is granted, and what that costs
//	linux.go     rules to the shim's policy
//	sbpl.go      rules to SBPL text: sbpl_system.go what is the same in all, sbpl_deny.go what is closed
//	quote.go     SBPL's strings and regular expressions
//
// All steps before the two renderers fill a rules value, which holds real paths only. The renderers are pure, and their
// tests run on every system. Build writes nothing, because a launch may still be refused afterwards. Folders that a
// template wants made stand in the profile, and Prepare makes them.
package sandbox
