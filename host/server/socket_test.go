package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hostshim/host/state"
)

func folder(t *testing.T) state.Places {
	dir, err := os.MkdirTemp("", "hs") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return state.Places{State: dir}
}

// A child that a killed host had just forked holds its socket and its lock for a moment, and answers nobody.
func TestH13StartWaitsForAForkedChild(t *testing.T) {
	p := folder(t)
	held, err := p.HostLock()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		held.Close()
		l.Close()
	})
	lock, err := takeFolder(p)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
}

func TestH13AHostThatAnswersIsLeftAlone(t *testing.T) {
	p := folder(t)
	l, err := net.Listen("unix", p.Socket()) // nobody has the lock
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			fmt.Fprint(conn, "HTTP/1.1 403 Forbidden\r\n\r\n")
			conn.Close()
		}
	}()
	if lock, err := takeFolder(p); err == nil {
		lock.Close()
		t.Error("the folder was taken from a living host")
	}
}

func TestH13OnlyTheOwnSocketIsRemoved(t *testing.T) {
	p := folder(t)
	first, err := listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(p.Socket(), filepath.Join(p.State, "first"))
	second, err := listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	first.remove()
	if _, err := os.Lstat(p.Socket()); err != nil {
		t.Errorf("the second one's socket: %v", err)
	}
	second.Close()
	second.remove()
	if _, err := os.Lstat(p.Socket()); !os.IsNotExist(err) {
		t.Errorf("its own: %v", err)
	}
}
