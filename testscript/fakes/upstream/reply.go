package main

import (
	"encoding/json"
	"maps"
	"slices"
)

// asked is what the fake understands of a model request, in whichever protocol it came.
type asked struct {
	tools []string // that the client offers
	said  string   // what the tool printed that the fake asked for
	ran   bool     // it was asked for and has run
}

// reply is what the fake says: a text, or a call of a tool.
type reply struct {
	text  string
	tool  string // "": it is a text
	input map[string]any
}

// shellTools are the tools by which the clients run a command, and what each wants to be told. The first that a client
// offers is called.
var shellTools = map[string]func(command string) map[string]any{
	"Bash":              described,                                                                                 // Claude Code
	"bash":              described,                                                                                 // opencode, Copilot
	"run_shell_command": func(c string) map[string]any { m := described(c); m["is_background"] = false; return m }, // Gemini, Qwen
	"exec": func(c string) map[string]any { // Codex, with models that write scripts in place of calls
		quoted, _ := json.Marshal(c)
		return map[string]any{"script": "text((await tools.exec_command({cmd: " + string(quoted) + "})).output)"}
	},
	"exec_command":  func(c string) map[string]any { return map[string]any{"cmd": c} },     // Codex
	"shell_command": func(c string) map[string]any { return map[string]any{"command": c} }, // Codex, older
}

func described(command string) map[string]any {
	return map[string]any{"command": command, "description": "asked for by the test"}
}

// replyTo is the text of -answer, or first a call of the client's shell tool with -bash's command, and then `tool said:
// …` before the text.
func replyTo(a asked) reply {
	if a.ran {
		say("tool said: %q", a.said)
		return reply{text: "tool said: " + a.said + "\n" + *answerText}
	}
	for _, name := range slices.Sorted(maps.Keys(shellTools)) {
		if *bashLine != "" && slices.Contains(a.tools, name) {
			return reply{tool: name, input: shellTools[name](*bashLine)}
		}
	}
	return reply{text: *answerText}
}
