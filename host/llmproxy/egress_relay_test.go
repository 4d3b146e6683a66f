package llmproxy

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TestN02Flow: after many bytes at once only a batch wakes the tunnel, and after few any byte does.
func TestN02Flow(t *testing.T) {
	l := listenLoopback(t)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	flowing := false
	for i, step := range []struct {
		n    int64
		took time.Duration
		want int
	}{
		{flowBytes - 1, flowBurst, 1}, {flowBytes, burst, 1}, {flowBytes, flowBurst, flowBatch},
		{flowLeast, flowBurst, flowBatch}, {flowLeast, 2*flowBurst - 1, flowBatch}, {flowLeast - 1, flowBurst, 1},
		{flowLeast, flowBurst, 1}, {flowBytes, 0, flowBatch}, {flowLeast, 2 * flowBurst, 1}, {0, 0, 1},
	} {
		flowing = flows(c, flowing, step.n, step.took)
		if got := lowWater(t, c); got != step.want {
			t.Errorf("step %d: %d wake it, not %d", i, got, step.want)
		}
	}
	if flows(&net.UnixConn{}, false, flowBytes, 0) {
		t.Error("a connection that the kernel does not wait for flows")
	}
}

func lowWater(t *testing.T, c net.Conn) (n int) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { n, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}
