// Package shim is the parent of a sandboxed coding agent. It starts one target program, hands it a token on
// descriptor 5 without reading it, forwards signals, and reports how the target ended.
//
// It promises:
//   - The target has the descriptors 0, 1, 2, with a token 5, and no other.
//   - No environment, argument, message or status event holds a secret.
//   - No target starts if its identity or its sandbox is refused.
//   - The target dies when the shim is killed (Linux).
//
// It does not hide the token from the target that was given it. It does not judge the profile: the host does.
//
// The files in the order of a launch:
//
//	contract.go   numbers and names that host and shim share
//	main.go       usage, flags, the agenda, the exit status
//	fds.go        which descriptors were inherited, and of what kind
//	identity.go   the identity secret and Hello
//	status.go     status events
//	tty.go        session leader, terminal, foreground
//	tty_state.go  the terminal as it was, after a target that a signal ended
//	target.go     look-up, environment, start
//	sandbox_*.go  how the target is started inside its sandbox
//	stage_*.go    the second stage, which becomes the target (Linux)
//	wait.go       signals, job control, exit
//	left_*.go     what a sandboxed target left running (Linux)
package shim
