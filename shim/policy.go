package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// PolicyVersion is the only policy version there is.
const PolicyVersion = 1

// What a policy says about the network (X09).
const (
	NetworkOpen  = "open"  // the machine's network, untouched
	NetworkModel = "model" // a network of its own, in which the model proxy is all there is
)

// Policy is a Linux sandbox profile: what one session may reach, everything else denied (X04). The host
// writes it, the shim's second stage applies it. Every path is absolute, clean and free of symbolic links,
// so that what the host decided is what the kernel is told; a path that turned into a link since is refused.
type Policy struct {
	Version   int      `json:"version"`
	Read      []string `json:"read"`       // files, or folders with all below: read and execute
	ReadWrite []string `json:"read_write"` // files, or folders with all below: read, execute, write, create, remove
	Devices   []string `json:"devices"`    // single device nodes: read, write and control
	Deny      []string `json:"deny"`       // win over every grant; one that is missing denies the name
	Network   string   `json:"network"`    // NetworkOpen or NetworkModel
}

// ParsePolicy reads a policy. An unknown member, trailing data, another version or a path that is not
// absolute and clean is an error: a sandbox is never applied in part (X03).
func ParsePolicy(data []byte) (*Policy, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var p Policy
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the policy")
	}
	if p.Version != PolicyVersion {
		return nil, fmt.Errorf("version %d, want %d", p.Version, PolicyVersion)
	}
	if p.Network != NetworkOpen && p.Network != NetworkModel {
		return nil, fmt.Errorf("network %q, want %q or %q", p.Network, NetworkOpen, NetworkModel)
	}
	for _, list := range [][]string{p.Read, p.ReadWrite, p.Devices, p.Deny} {
		for _, path := range list {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
				return nil, fmt.Errorf("path %q is not absolute and clean", path)
			}
		}
	}
	return &p, nil
}
