package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hostshim/host"
)

func status(args []string) int {
	f := newFlags("status")
	asJSON := f.Bool("json", false, "print JSON")
	f.bearerFlag()
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	h, err := f.open("")
	if err != nil {
		return fail(err)
	}
	s := h.Status()
	if s.Host, err = f.runningHost(); err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	if *asJSON {
		return printJSON(s)
	}
	fmt.Printf("Settings: %s\nState: %s\nData: %s\nShim: %s\n", s.Paths.Settings, s.Paths.State, s.Paths.Data, s.Paths.Shim)
	if s.Paths.ClaudeTokenFile != "" {
		fmt.Printf("Claude token file: %s\n", s.Paths.ClaudeTokenFile)
	}
	fmt.Printf("Sandbox: %s\n", s.Sandbox)
	if r := s.Host; r != nil {
		fmt.Printf("Host: running since %s, process %d, %d sessions, on %s\n", r.Since, r.PID, r.Sessions, r.Socket)
		if r.BaseURL != "" {
			fmt.Printf("Model proxy: %s\n", r.BaseURL)
		}
	}
	for _, w := range s.Warnings {
		fmt.Printf("Warning: %s\n", w)
	}
	for _, p := range s.Problems {
		fmt.Printf("Problem: %s\n", p)
	}
	return 0
}

// runningHost is nil where none runs, which is no problem.
func (f *flags) runningHost() (*host.HostStatus, error) {
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	s, err := c.Status()
	var none *host.NoHost
	switch {
	case errors.As(err, &none):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("running host: %w", err)
	}
	return &s, nil
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
