package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func status(args []string) int {
	f := newFlags("status")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	h, err := f.open("")
	if err != nil {
		return fail(err)
	}
	s := h.Status()
	if *asJSON {
		return printJSON(s)
	}
	fmt.Printf("Settings: %s\nState: %s\nData: %s\nShim: %s\n", s.Paths.Settings, s.Paths.State, s.Paths.Data, s.Paths.Shim)
	if s.Paths.ClaudeTokenFile != "" {
		fmt.Printf("Claude token file: %s\n", s.Paths.ClaudeTokenFile)
	}
	fmt.Printf("Sandbox: %s\n", s.Sandbox)
	for _, w := range s.Warnings {
		fmt.Printf("Warning: %s\n", w)
	}
	for _, p := range s.Problems {
		fmt.Printf("Problem: %s\n", p)
	}
	return 0
}

func printJSON(v any) int {
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fail(err)
	}
	return 0
}
