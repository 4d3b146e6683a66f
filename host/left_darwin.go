package host

import "time"

// macOS has no subreapers: a session whose shim was killed may leave processes (a documented limit).

func (c *children) becomeSubreaper() {}

func (c *children) endOrphans(time.Duration) []string { return nil }
