//go:build linux

package main

import (
	"os"
	"path/filepath"
)

func sizeSection(b *bench, t *table) error {
	for _, p := range []struct {
		name string
		mib  float64
	}{{"shim", 2.5}, {"host", 8}} {
		info, err := os.Stat(filepath.Join(b.bin, p.name))
		if err != nil {
			return err
		}
		t.add("`"+p.name+"`", "MiB", samples{float64(info.Size()) / (1 << 20)}, reference{}, atMost(p.mib))
	}
	return nil
}
