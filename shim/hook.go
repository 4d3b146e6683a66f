package shim

// hookWord is what relay writes behind the path of its shim binary, as the hook that Claude Code asks before each use of a
// tool (R03).
const hookWord = "hook"

// exitDeny is the status by which such a hook refuses the use. With any other one it has not decided, and the gate is open.
const exitDeny = 2

// refuseHook answers for a gate that is not here.
func refuseHook() int {
	complain("hook: this shim is no gate for tools, so the tool is refused: let -shim-binary name a script that leaves `hook` to relay's own relay-sessions", "")
	return exitDeny
}
