package descriptors

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"testing"
)

func TestH15SharesAddUp(t *testing.T) {
	for limit, want := range map[int]Shares{
		0:    {},
		40:   {},
		120:  {API: 10, Clients: 20, Upstream: 10, Sessions: 40},
		200:  {API: 20, Clients: 40, Upstream: 20, Sessions: 80},
		1024: {API: 123, Clients: 246, Upstream: 123, Sessions: 492},
	} {
		if got := Share(limit); got != want {
			t.Errorf("%d: %+v, want %+v", limit, got, want)
		}
	}
	for limit := range 5000 {
		s := Share(limit)
		if sum := s.API + s.Clients + s.Upstream + s.Sessions; sum != max(0, limit-Reserve) {
			t.Fatalf("%d: %+v sum up to %d", limit, s, sum)
		}
	}
	if own := Own(); own.API <= 0 {
		t.Errorf("of this process: %+v", own)
	}
}

func TestH15Pool(t *testing.T) {
	p := NewPool(10)
	switch {
	case p.Short(10), !p.Take(4), p.Take(7), !p.Short(7), p.Short(6), !p.Take(6), p.Take(1):
		t.Error("the pool gives what it has not, or keeps what it has")
	}
	p.Give(10)
	var taken sync.WaitGroup
	for range 20 {
		taken.Go(func() {
			for !p.Take(3) {
			}
			p.Give(3)
		})
	}
	taken.Wait()
	if !p.Take(10) {
		t.Error("not all were given back")
	}
}

func TestH15Parts(t *testing.T) {
	p := NewPool(32)
	var parts []*Part
	for _, want := range []int{16, 8, 4, 2, 1, 1, 0} {
		part, got := p.Part(), 0
		for part.Take(1) {
			got++
		}
		if parts = append(parts, part); got != want {
			t.Errorf("a user gets %d, want %d", got, want)
		}
	}
	parts[0].Give(16)
	if p.TakeSpare(1) {
		t.Error("what can be done without gets some of the last half")
	}
	if !parts[6].Take(3) || parts[6].Take(32) || !parts[6].Take(5) || parts[6].Take(1) {
		t.Error("what one gave back is not to be had, or all of it")
	}
	parts[6].Give(8)
	parts[1].Give(8)
	if !p.TakeSpare(8) || p.TakeSpare(1) {
		t.Error("what can be done without gets nothing of the first half, or more")
	}
}

func TestH15None(t *testing.T) {
	wrapped := fmt.Errorf("accept: %w", &os.SyscallError{Syscall: "accept4", Err: syscall.EMFILE})
	if !None(wrapped) || !None(syscall.ENFILE) || None(fs.ErrNotExist) || None(nil) {
		t.Error("descriptors that are gone are told from other errors")
	}
}
