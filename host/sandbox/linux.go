package sandbox

import (
	"bytes"
	"encoding/json"
	"slices"

	"hostshim/shim"
)

// renderPolicy writes the policy that the shim's second stage applies (shim.Policy): real paths only.
func renderPolicy(r rules) ([]byte, error) {
	p := shim.Policy{
		Version:   shim.PolicyVersion,
		Read:      []string{},
		ReadWrite: []string{},
		Devices:   []string{},
		Deny:      []string{},
		Network:   r.network,
	}
	for _, g := range r.grants {
		switch {
		case g.kind == device && g.write:
			p.Devices = append(p.Devices, g.real)
		case g.write:
			p.ReadWrite = append(p.ReadWrite, g.real)
		default:
			p.Read = append(p.Read, g.real)
		}
	}
	for _, d := range r.denies {
		// A link keeps its place because the folder around it becomes a list; where nothing is granted
		// there is nothing to keep.
		if !d.link || granted(r.grants, d.real) {
			p.Deny = append(p.Deny, d.real)
		}
	}
	p.ReadWrite = uncovered(p.ReadWrite, nil)
	p.Read = uncovered(p.Read, p.ReadWrite)
	p.Devices = sorted(p.Devices)
	p.Deny = sorted(p.Deny)

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // paths read as they are
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// granted says whether path lies in a folder that is granted.
func granted(grants []grant, path string) bool {
	return slices.ContainsFunc(grants, func(g grant) bool { return g.kind == folder && below(path, g.real) })
}

// uncovered sorts paths and leaves out those that another one, or one of wider, grants already: each
// costs the start of a session a few system calls.
func uncovered(paths, wider []string) []string {
	kept := []string{}
	for _, path := range sorted(paths) {
		covers := func(other string) bool { return within(path, other) }
		if !slices.ContainsFunc(kept, covers) && !slices.ContainsFunc(wider, covers) {
			kept = append(kept, path)
		}
	}
	return kept
}

// sorted sorts paths, parents before what is in them, and drops repetitions.
func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
