package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hostshim/host/client"
	"hostshim/host/doctor"
	"hostshim/host/wire"
)

func status(args []string) int {
	f := newFlags("status")
	asJSON := f.Bool("json", false, "print JSON")
	f.bearerFlag()
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	s := doctor.Look(places)
	if s.Host, err = f.runningHost(); err != nil {
		s.Problems = append(s.Problems, err.Error())
	} else if s.Host != nil && s.Host.ProxyProblem != "" {
		s.Problems = append(s.Problems, "model proxy: "+s.Host.ProxyProblem)
	}
	if *asJSON {
		return printJSON(s)
	}
	showStatus(s)
	return 0
}

// showStatus prints a status for people.
func showStatus(s doctor.Status) {
	showField("Settings", s.Paths.Settings)
	showField("State", s.Paths.State)
	showField("Data", s.Paths.Data)
	showField("Shim", s.Paths.Shim)
	if s.Paths.ClaudeTokenFile != "" {
		showField("Claude token file", s.Paths.ClaudeTokenFile)
	}
	showField("Sandbox", s.Sandbox)
	for _, t := range s.Templates {
		showField("Template "+t.ID, t.Text)
	}
	for _, c := range s.Clients {
		showField("Client "+c.ID, c.Text)
	}
	for _, c := range s.Services {
		showField("Service "+c.ID, c.Text)
	}
	for _, d := range s.Denied {
		name := "Denied"
		if d.ReadOnly {
			name = "Read-only"
		}
		showField(name, fmt.Sprintf("%s (%s)", d.Path, d.Why))
	}
	if r := s.Host; r != nil {
		showField("Host", fmt.Sprintf("running since %s, process %d, %d sessions, on %s", r.Since, r.PID, r.Sessions, r.Socket))
		if r.BaseURL != "" {
			showField("Model proxy", r.BaseURL)
		}
	}
	for _, w := range s.Warnings {
		showField("Warning", w)
	}
	for _, p := range s.Problems {
		showField("Problem", inOwnName(p))
	}
}

// runningHost is nil where none runs, which is no problem.
func (f *flags) runningHost() (*wire.Host, error) {
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	s, err := c.Status()
	var none *client.NoHost
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
