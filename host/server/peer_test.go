package server

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestH03Peer(t *testing.T) {
	shim := func(pid int) bool { return pid == 77 }
	for _, c := range []struct {
		name  string
		peer  peer
		trust bool
		want  string
	}{
		{"the same user", peer{uid: 1000, pid: 5, session: 2, ancestors: []int{5, 2}}, true, ""},
		{"root", peer{uid: 0, pid: 5}, true, ""},
		{"another user", peer{uid: 1001, pid: 5}, true, "user 1001"},
		{"elsewhere", peer{uid: 1000, pid: 0}, true, "a process of another process namespace"},
		{"sandboxed", peer{uid: 1000, pid: 5, noNewPrivs: true}, true, "process 5 has no_new_privs, as everything inside a sandbox"},
		{"sandboxed root", peer{uid: 0, pid: 5, noNewPrivs: true}, true, "process 5 has no_new_privs, as everything inside a sandbox"},
		{"a confined host", peer{uid: 1000, pid: 5, noNewPrivs: true}, false, ""},
		{"a descendant", peer{uid: 1000, pid: 5, ancestors: []int{5, 9, 77, 3}}, false, "process 5 descends from a session's shim"},
		{"a shim", peer{uid: 1000, pid: 77, ancestors: []int{77}}, true, "process 77 descends from a session's shim"},
		{"forked away", peer{uid: 1000, pid: 5, session: 77, ancestors: []int{5}}, true, "process 5 is in the terminal session of a session's shim"},
	} {
		if got := errorText(c.peer.refuse(1000, c.trust, shim)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestH03LookAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := lookAt(conn)
	if err != nil || p.pid != os.Getpid() || p.uid != os.Geteuid() || p.noNewPrivs != confined() {
		t.Errorf("looked at %+v, %v", p, err)
	}
	session, err := unix.Getsid(0) // 0: its leader is outside this process namespace, as after nsenter
	if len(p.ancestors) < 1 || p.ancestors[0] != os.Getpid() ||
		os.Getppid() > 1 && (len(p.ancestors) < 2 || p.ancestors[1] != os.Getppid()) || p.session != session {
		t.Errorf("looked at %+v, want session %d, %v", p, session, err)
	}
}

// Of those who may not call only so many are heard out at a time, and they keep nobody else out.
func TestH03RefusedAreFew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	no := errors.New("no")
	d := &peerListener{UnixListener: l, judge: func(*net.UnixConn) error { return no }, refusedSlots: make(chan struct{}, 2)}
	accepted := make(chan *caller, 9)
	go func() {
		for {
			c, err := d.Accept()
			if err != nil {
				return
			}
			accepted <- c.(*caller)
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(10 * time.Second))
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	if first.refused != no || second.refused != no {
		t.Errorf("%v, %v", first.refused, second.refused)
	}
	answer, err := io.ReadAll(dial())
	if err != nil || string(answer) != "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" || len(accepted) != 0 {
		t.Errorf("one too many: %q, %v, %d accepted", answer, err, len(accepted))
	}
	first.Close()
	first.Close() // twice gives one place back
	dial()
	<-accepted
	if answer, _ := io.ReadAll(dial()); len(answer) == 0 {
		t.Error("one too many is heard out")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
