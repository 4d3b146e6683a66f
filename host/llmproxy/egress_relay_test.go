package llmproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestN02Flow: after many bytes within a burst only a batch wakes the tunnel, and after few any byte does. What is slower
// for it has to be twice as long the next time.
func TestN02Flow(t *testing.T) {
	c, _ := loopbackPair(t)
	f := flow{after: flowBytes}
	for i, step := range []struct {
		n    int64
		took time.Duration
		want int
	}{
		{flowBytes - 1, burst, 1}, {flowBytes, burst, flowBatch},
		{flowPause, flowBurst, flowBatch}, {flowPause - 1, flowBurst, 1}, // a pause, and the flow was as fast as before
		{flowBytes, burst / 4, flowBatch}, {flowBatch, 15 * flowBurst, flowBatch}, {flowBatch, flowBurst, 1}, // slower
		{flowBytes, burst / 4, 1}, {2 * flowBytes, burst / 4, flowBatch},
		{flowBytes, flowPeriod, flowBatch}, {flowPause - 1, flowPeriod, 1}, // a new period, slower again
		{2 * flowBytes, burst / 4, 1}, {4 * flowBytes, burst, flowBatch}, {flowPause, flowBurst, flowBatch},
	} {
		f.moved(c, step.n, step.took)
		if got := lowWater(t, c); got != step.want || f.on != (got > 1) {
			t.Errorf("step %d: %d wake it, not %d", i, got, step.want)
		}
	}
	f = flow{after: flowBytes}
	if f.moved(&net.UnixConn{}, flowBytes, 0); f.on {
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

// TestN05HalfWakes: one side's end wakes the direction that waits for the other, and leaves it no deadline of its own: what
// waits for flowBatch would wait for that.
func TestN05HalfWakes(t *testing.T) {
	tn := &tunnel{}
	tn.touch()
	client, clientEnd := loopbackPair(t)
	remote, remoteEnd := loopbackPair(t)
	tn.remote, tn.egress = remote, newEgress(New(plainConfig()), Launch{})
	clientEnd.CloseWrite()
	var count int64
	if err := tn.move(remote, client, &count); err != nil || !tn.half.Load() {
		t.Fatal(err)
	}
	if n, err := remoteEnd.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the end is not passed on: %d bytes, %v", n, err)
	}
	remoteEnd.Write([]byte("x"))
	if n, err := remote.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the other direction is not woken: %d bytes, %v", n, err)
	}
}

// TestN05Reset: a side that breaks off while nothing flows does not pass for one that has ended.
func TestN05Reset(t *testing.T) {
	ours, theirs := loopbackPair(t)
	theirs.SetLinger(0)
	theirs.Close()
	if err := awaitReadable(ours); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want that it was reset", err)
	}
}

func loopbackPair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l := listenLoopback(t)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return c.(*net.TCPConn), accepted.(*net.TCPConn)
}
