// Package shim is the parent of a sandboxed coding agent. It starts one target program, hands it a token on
// descriptor 5 without ever reading it, forwards signals, and reports how it ended.
//
// It promises that the target's descriptor table is 0, 1, 2 (and 5) and nothing else, that no secret stands in
// an environment, argv, message or status event, that no target starts with an identity or a sandbox refused,
// and that the target dies when the shim is killed. It does not hide the token from the target that was given
// it, and does not judge the profile it is handed: that is the host's work.
//
// The files in the order of a launch:
//
//	contract.go   numbers and names that host and shim share
//	main.go       usage, flags, the agenda
//	fds.go        which descriptors were inherited, of what kind; the sweep
//	identity.go   the identity secret and Hello
//	status.go     status events
//	tty.go        session leader, terminal, foreground
//	target.go     look-up, environment, start, exit status
//	sandbox_*.go  how the target is started inside its sandbox
//	stage_*.go    the second stage, which becomes the target (Linux)
//	wait.go       signals, job control, reaping
//	left_*.go     what a sandboxed target left running (Linux)
package shim
