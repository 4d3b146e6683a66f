package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// PolicyVersion is the only version of a policy.
const PolicyVersion = 1

// What a policy says about the network (X09).
const (
	NetworkOpen  = "open"  // the machine's network, untouched
	NetworkModel = "model" // a network of its own, in which only the host's listener exists
	NetworkNone  = "none"  // a network of its own, in which nothing is
)

// Policy is a Linux sandbox profile: it lists what one session may reach, and all else is denied (X04). The host writes
// it, and the shim applies it. Every path is absolute, clean and free of symbolic links, so that the
// kernel is told exactly what the host decided. If a path has become a link since, the launch is refused.
type Policy struct {
	Version   int      `json:"version"`
	Read      []string `json:"read"`       // files, or folders with all below: read and execute
	ReadWrite []string `json:"read_write"` // files, or folders with all below: read, execute, write, create, remove
	Devices   []string `json:"devices"`    // single device nodes: read, write and control
	Deny      []string `json:"deny"`       // win over every grant; a path that does not exist yet is denied by its name
	Private   []string `json:"private"`    // get nothing from a grant of a folder around them (X16)
	ReadOnly  []string `json:"read_only"`  // get no more than reading from a grant of a folder around them (X16)
	Network   string   `json:"network"`    // NetworkOpen, NetworkModel or NetworkNone

	// Protect are files and folders inside grants that cannot be written all the same (X17). All outside the grants is
	// read-only then as well, with modes and times. It needs a network of the session's own. nil: neither.
	Protect []string `json:"protect,omitzero"`
}

// ownNetwork says whether the session has a network of its own.
func (p *Policy) ownNetwork() bool { return p.Network == NetworkModel || p.Network == NetworkNone }

// ParsePolicy reads a policy. A sandbox is never applied in part, so these are errors: an unknown or repeated member,
// trailing data, another version, and a path that is not absolute and clean (X03).
func ParsePolicy(data []byte) (*Policy, error) {
	var p Policy
	if err := p.decode(json.NewDecoder(bytes.NewReader(data))); errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	if p.Version != PolicyVersion {
		return nil, fmt.Errorf("version %d, want %d", p.Version, PolicyVersion)
	}
	if p.Network != NetworkOpen && !p.ownNetwork() {
		return nil, fmt.Errorf("network %q, want %q, %q or %q", p.Network, NetworkOpen, NetworkModel, NetworkNone)
	}
	if p.Protect != nil && !p.ownNetwork() {
		return nil, fmt.Errorf("protect needs network %q or %q", NetworkModel, NetworkNone)
	}
	for _, list := range [][]string{p.Read, p.ReadWrite, p.Devices, p.Deny, p.Private, p.ReadOnly, p.Protect} {
		for _, path := range list {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
				return nil, fmt.Errorf("path %q is not absolute and clean", path)
			}
			// JSON encoders and decoders replace bytes that are not UTF-8 by this character. The result is another path,
			// and denying another path would deny nothing.
			if strings.ContainsRune(path, utf8.RuneError) {
				return nil, fmt.Errorf("path %q holds bytes that are not UTF-8", path)
			}
		}
	}
	return &p, nil
}

// decode reads the object member by member. Unmarshal would take "DENY" for "deny", and the last of two members of one
// name.
func (p *Policy) decode(d *json.Decoder) error {
	members := map[string]any{
		"version": &p.Version, "network": &p.Network,
		"read": &p.Read, "read_write": &p.ReadWrite, "devices": &p.Devices, "deny": &p.Deny,
		"private": &p.Private, "read_only": &p.ReadOnly, "protect": &p.Protect,
	}
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return errors.New("not an object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // inside an object the decoder accepts nothing else here
		member := members[name]
		if member == nil {
			return fmt.Errorf("member %q is unknown, or given twice", name)
		}
		delete(members, name)
		if err := d.Decode(member); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the policy")
	}
	return nil
}
