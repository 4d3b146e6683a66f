package sandbox

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"

	"hostshim/shim"
)

// keptName is denied beside a link that must stay as it is. A policy cannot name the link itself: the second stage
// refuses a path that is one. But a denied name, there or not, makes its folder a list: nothing in it can be replaced,
// and what somebody outside points the link to is not granted.
const keptName = ".kept"

// renderPolicy writes the policy that the shim's second stage applies (shim.Policy): real paths only.
func renderPolicy(r *rules) ([]byte, error) {
	p := shim.Policy{
		Version:   shim.PolicyVersion,
		Read:      []string{},
		ReadWrite: []string{},
		Devices:   []string{},
		Deny:      []string{},
		Private:   []string{},
		ReadOnly:  []string{},
		Network:   r.network,
		Protect:   r.protect,
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
		switch {
		case !d.link:
			p.Deny = append(p.Deny, d.real)
		case r.granted(d.real): // else nobody in the session could touch it
			p.Deny = append(p.Deny, filepath.Join(filepath.Dir(d.real), keptName))
		}
	}
	for _, d := range r.private {
		to, path := &p.Private, d.real
		if d.link {
			path = filepath.Join(filepath.Dir(d.real), keptName)
		} else if d.readOnly {
			to = &p.ReadOnly
		}
		*to = append(*to, path)
	}
	p.ReadWrite = r.uncovered(p.ReadWrite, nil)
	p.Read = r.uncovered(p.Read, p.ReadWrite)
	for _, list := range []*[]string{&p.Devices, &p.Deny, &p.Private, &p.ReadOnly} {
		*list = sorted(*list)
	}

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
func (r *rules) granted(path string) bool {
	return slices.ContainsFunc(r.grants, func(g grant) bool { return g.kind == folder && path != g.real && r.covers(g.real, path) })
}

// uncovered sorts paths and leaves out those that another path, or one of wider, grants already. Each path costs a
// launch a few system calls.
func (r *rules) uncovered(paths, wider []string) []string {
	kept, granting := []string{}, map[string]bool{}
	for _, path := range wider {
		granting[path] = true
	}
	for _, path := range sorted(paths) {
		if !r.coveredByOne(granting, path) {
			kept, granting[path] = append(kept, path), true
		}
	}
	return kept
}

// coveredByOne looks only at path and what is above it, so that ten thousand grants do not take a hundred million looks.
func (r *rules) coveredByOne(granting map[string]bool, path string) bool {
	for at := path; ; at = filepath.Dir(at) {
		if granting[at] && r.covers(at, path) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// sorted sorts paths, parents before what is in them, and drops repetitions.
func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
