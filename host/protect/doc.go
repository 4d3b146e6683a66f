// Package protect knows the files of a project that a user's own tools run unasked: hooks, git's configuration, editors'
// tasks, shells' start-up files (X17). It takes their fingerprint before a session and after it, and says what is new or
// changed.
//
// What it reads afterwards was written by the session. So every read is bounded, nothing but regular files is opened, and
// no link is followed out of the folder that was granted.
package protect
