package llmproxy

import (
	"net"
	"syscall"
	"time"
)

// A sender about as fast as this program wakes it for each write, and that takes both, and the reader, more time than the
// bytes do. So of a flow, which begins after flowBytes within a burst, no less than flowBatch wakes it, or the end of a
// flowBurst. One that brings less than flowPause ends the flow: its last bytes came late, but once.
const (
	flowBytes = 32 << 20
	flowBatch = 2 << 20
	flowBurst = 4 * time.Millisecond
	flowPause = 128 << 10
)

// flowPeriod is how often a flow is compared with what came before it. Pieces that are asked for one by one may look like a
// flow, and then each waits for the end of its flowBurst. A flow that is slower ends, and the next begins after twice as many
// bytes.
const flowPeriod = 16 * flowBurst

// flow is what one direction of a tunnel knows of its own.
type flow struct {
	on     bool
	after  int64   // how many bytes within a burst begin one
	before float64 // bytes a second before it
	n      int64   // bytes of this period
	took   time.Duration
}

// moved takes note of n bytes, and has the kernel gather the next ones, or no longer.
func (f *flow) moved(from net.Conn, n int64, took time.Duration) {
	tcp, ok := from.(*net.TCPConn)
	if !ok {
		return
	}
	was := f.on
	f.n, f.took = f.n+n, f.took+took
	rate := float64(f.n) / f.took.Seconds()
	switch {
	case !f.on:
		f.on, f.before = n == f.after, rate
	case n >= flowPause && f.took < flowPeriod:
		return
	default:
		slower := rate < f.before*3/4
		if slower {
			f.after *= 2
		}
		f.on = n >= flowPause && !slower
	}
	f.n, f.took = 0, 0
	if f.on == was {
		return
	}
	least := 1
	if f.on {
		least = flowBatch
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, least) })
	}
}
