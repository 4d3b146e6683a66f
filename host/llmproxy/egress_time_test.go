package llmproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hostshim/host/reach"
)

// pipe is one end of a connection in memory, which a fake clock governs, with a half close.
type pipe struct {
	net.Conn // reads
	out      net.Conn
}

func duplex() (a, b pipe) {
	in, back := net.Pipe()
	there, out := net.Pipe()
	return pipe{in, out}, pipe{there, back}
}

func (p pipe) Write(b []byte) (int, error)         { return p.out.Write(b) }
func (p pipe) CloseWrite() error                   { return p.out.Close() }
func (p pipe) Close() error                        { return errors.Join(p.Conn.Close(), p.out.Close()) }
func (p pipe) SetWriteDeadline(at time.Time) error { return p.out.SetWriteDeadline(at) }

// SetDeadline is over for writing when it is for reading, as with TCP: the clock has no two timers at one moment.
func (p pipe) SetDeadline(at time.Time) error {
	if err := p.SetReadDeadline(at); at.IsZero() || err != nil {
		return errors.Join(err, p.SetWriteDeadline(at))
	}
	return p.SetWriteDeadline(at.Add(-1))
}

// span is how long a wait may last longer than the rule says: a direction tells after a burst that bytes moved.
const span = 2 * burst

// held is a tunnel over pipes: the client's end and the host's, and the log.
func held(t *testing.T, port uint16, dial func(context.Context) error) (client, remote pipe, log *logBuffer) {
	t.Helper()
	log = &logBuffer{}
	config := plainConfig()
	config.Log = slogTo(log)
	p := New(config)
	e := newEgress(p, Launch{ClientID: "any"})
	ours, client := duplex()
	theirs, remote := duplex()
	e.dial = func(ctx context.Context, _ reach.Host) (net.Conn, error) { return theirs, dial(ctx) }
	c := &conn{Conn: ours, proxy: p, listener: newListener(nil, p, true, nil)}
	tn := &tunnel{egress: e, host: reach.Host{Name: "listed.test", Port: port}, conn: c, client: ours}
	tn.line.start(e, "listed.test")
	go record(p, &tn.line, (*tunnel).serve, tn)
	t.Cleanup(func() {
		e.End()
		p.Close()
	})
	return client, remote, log
}

func atOnce(context.Context) error { return nil }

func never(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func opened(t *testing.T, client pipe) {
	t.Helper()
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(client, answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Fatalf("%q, %v", answer, err)
	}
}

// wantTook compares what passed since begun, on the fake clock.
func wantTook(t *testing.T, begun time.Time, least, most time.Duration) {
	t.Helper()
	if took := time.Since(begun); took < least || took > most {
		t.Errorf("it took %v, want %v to %v", took, least, most)
	}
}

func wantCode(t *testing.T, log *logBuffer, code string) {
	t.Helper()
	synctest.Wait()
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"code":"`+code+`"`) {
		t.Errorf("the log holds %q, want one line with %q", text, code)
	}
}

func TestN05Connect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		client, _, log := held(t, 9000, never)
		answer := make([]byte, 16)
		if _, err := io.ReadFull(client, answer); err != nil || string(answer) != "HTTP/1.1 504 Gat" {
			t.Fatalf("%q, %v", answer, err)
		}
		wantTook(t, begun, 10*time.Second, 10*time.Second)
		io.Copy(io.Discard, client)
		client.Close()
		wantCode(t, log, "gateway_timeout")
	})
}

// A ClientHello has ten seconds in all, however it comes.
func TestN03SlowHello(t *testing.T) {
	for _, drip := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client, _, log := held(t, 443, atOnce)
			begun := time.Now()
			opened(t, client)
			if drip {
				go func() {
					for _, b := range append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 100)...) {
						if _, err := client.Write([]byte{b}); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
				}()
			}
			got, err := io.ReadAll(client)
			if err != nil || string(got) != string(alerts[helloSlow]) {
				t.Errorf("%q, %v, want an alert", got, err)
			}
			client.Close()
			wantTook(t, begun, 10*time.Second, 10*time.Second)
			time.Sleep(time.Second)
			wantCode(t, log, helloSlow)
		})
	}
}

// A tunnel ends ten minutes after the last byte of either side.
func TestN05Idle(t *testing.T) {
	for _, fromRemote := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client, remote, log := held(t, 9000, atOnce)
			opened(t, client)
			from, to := client, remote
			if fromRemote {
				from, to = remote, client
			}
			for range 3 {
				time.Sleep(9 * time.Minute)
				go from.Write([]byte("x"))
				if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			io.Copy(io.Discard, client)
			wantTook(t, begun, 10*time.Minute, 10*time.Minute+span)
			if _, err := remote.Read(make([]byte, 1)); err == nil {
				t.Error("the host's end is open")
			}
			wantCode(t, log, "idle_timeout")
		})
	}
}

// After one side's end the other has a minute without a byte.
func TestN05HalfClosed(t *testing.T) {
	for _, byRemote := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client, remote, log := held(t, 9000, atOnce)
			opened(t, client)
			ending, going := client, remote
			if byRemote {
				ending, going = remote, client
			}
			time.Sleep(5 * time.Minute)
			ending.CloseWrite()
			if n, err := going.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Fatalf("%d bytes, %v, want the end", n, err)
			}
			for range 3 {
				begun := time.Now()
				go going.Write([]byte("x"))
				if _, err := io.ReadFull(ending, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(begun.Add(50 * time.Second)))
			}
			begun := time.Now()
			io.Copy(io.Discard, ending)
			wantTook(t, begun, 10*time.Second-span, 10*time.Second+span)
			wantCode(t, log, "idle_timeout")
		})
	}
}

// What nobody takes is no movement, and a download through a TLS connection, as to the host's own proxy, is one however
// slowly it comes.
func TestN05Stalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, remote, log := held(t, 9000, atOnce)
		opened(t, client)
		begun := time.Now()
		go remote.Write(make([]byte, 1<<20))
		io.Copy(io.Discard, remote)
		wantTook(t, begun, 10*time.Minute, 10*time.Minute+span)
		wantCode(t, log, "idle_timeout")
	})
	synctest.Test(t, func(t *testing.T) {
		client, remote, log := held(t, 9000, atOnce)
		opened(t, client)
		go func() {
			for range 60 {
				remote.Write([]byte("x"))
				time.Sleep(30 * time.Second)
			}
			remote.Close()
		}()
		if n, err := io.Copy(io.Discard, client); n != 60 || err != nil {
			t.Errorf("%d bytes came, %v, want 60", n, err)
		}
		client.Close()
		wantCode(t, log, "")
	})
}

// TestN05Await: the same over TCP, where the kernel waits: no fake clock governs that, so the tunnel is an old one.
func TestN05Await(t *testing.T) {
	l := listenLoopback(t)
	defer l.Close()
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, half := range []bool{false, true} {
		tn := &tunnel{}
		tn.half.Store(half)
		limit := map[bool]time.Duration{false: idleTunnel, true: halfTunnel}[half]
		tn.last.Store(time.Now().Add(20*time.Millisecond - limit).UnixNano())
		if _, err := tn.await(c); !errors.Is(err, errIdle) {
			t.Errorf("half closed %v: %v", half, err)
		}
	}
	tn := &tunnel{}
	tn.touch()
	there.Write([]byte("x"))
	for range 2 {
		if within, err := tn.await(c); within != burst || err != nil {
			t.Errorf("with a byte: %v, %v", within, err)
		}
	}
}
