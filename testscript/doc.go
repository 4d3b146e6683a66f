// Package testscript drives the built programs, host and shim, by scripts: txtar archives under rules (one or
// more for each rule of docs/rules.md) and engine (the engine's own). README.md teaches the language.
//
// The engine imports nothing of the programs it drives. It is all in _test.go files:
//
//	main_test.go     one run: programs built once, TestRules, TestEngine
//	script_test.go   one script: archive, lines, phases, verdict
//	word_test.go     a line into words: quotes, conditions, variables
//	proc_test.go     starting; wait_test.go, signal_test.go: what follows; redirect_test.go: the child's descriptors
//	handle_test.go   named pipes, sockets, terminals; send_test.go, stream_test.go: what goes in and comes out
//	match_test.go    stdout, grep, cmp, waitfor; files_test.go: cp, rm, chmod, …
//	leak_test.go     the token check; sys_linux_test.go, sys_darwin_test.go: /proc and terminals
//	repo_test.go     rules and documents against the tree; self_test.go: the engine's parts
package testscript
