package host

import (
	"bytes"
	"context"
	"errors"
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"time"
)

// numbers is text in which every place looks different from its neighbours.
func numbers(from, n int) []byte {
	var b []byte
	for i := from; len(b) < n; i++ {
		b = strconv.AppendInt(append(b, ' '), int64(i), 10)
	}
	return b[:n]
}

func TestH07LastBytesAreKeptInOrder(t *testing.T) {
	for _, total := range []int{0, 1, 4095, maxLog - 1, maxLog, maxLog + 1, 2*maxLog + 12345} {
		all := numbers(0, total)
		for _, piece := range []int{1 + total/3, 4096, maxLog, 3 * maxLog} {
			var o output
			for at := 0; at < total; at += piece {
				o.Write(all[at:min(total, at+piece)])
			}
			want := all[max(0, total-maxLog):]
			if got := o.snapshot(); !bytes.Equal(got, want) || o.size() != int64(total) {
				t.Fatalf("%d bytes by %d: kept %d, want %d", total, piece, len(got), len(want))
			}
		}
	}
}

func TestH07ReadersSeeEachByteOnce(t *testing.T) {
	all := numbers(0, 1<<20)
	var o output
	o.Write(all[:1000])
	var wg sync.WaitGroup
	for i := range 8 {
		r := o.read() // all of it so far, then what comes
		wg.Go(func() {
			defer r.close()
			var got []byte
			buf := make([]byte, 100+i*1000)
			for {
				n, done, err := r.next(buf)
				if err != nil {
					t.Error(err)
					return
				}
				if got = append(got, buf[:n]...); done {
					break
				}
				if n == 0 {
					r.wait(context.Background())
				}
			}
			if !bytes.Equal(got, all) {
				t.Errorf("reader %d: got %d bytes that are not the %d written", i, len(got), len(all))
			}
		})
	}
	for rest := all[1000:]; len(rest) > 0; {
		n := min(len(rest), 1+rand.Intn(30000))
		o.Write(rest[:n])
		rest = rest[n:]
	}
	o.end()
	wg.Wait()
	if len(o.readers) != 0 {
		t.Error("a reader is left")
	}
}

func TestH07ReaderThatStopsIsDropped(t *testing.T) {
	var o output
	stalled := o.read()
	start := time.Now()
	o.Write(numbers(0, 3*maxLog))
	if waited := time.Since(start); waited < patience || waited > 4*patience {
		t.Errorf("the writer waited %v", waited)
	}
	start = time.Now()
	o.Write(numbers(0, 3*maxLog))
	if waited := time.Since(start); waited > patience/2 {
		t.Errorf("the writer waited %v more for a reader it had dropped", waited)
	}
	if _, done, err := stalled.next(make([]byte, 10)); !done || !errors.Is(err, errTooSlow) {
		t.Errorf("the stalled reader got %v, %v", done, err)
	}
	if err := stalled.wait(context.Background()); err != nil {
		t.Error(err)
	}
	stalled.close()
}

// A terminal that shows less than a session prints slows it, and is not dropped: each log's length starts patience anew.
func TestH07ReaderThatMovesOnIsKept(t *testing.T) {
	var o output
	r := o.read()
	defer r.close()
	o.Write(numbers(0, maxLog))
	piece := make([]byte, maxLog/4)
	for i := range 40 { // never caught up: three quarters of a log lie before it
		if n, _, err := r.next(piece); n != len(piece) || err != nil {
			t.Fatalf("piece %d: %d bytes, %v", i, n, err)
		}
		r.waited += patience / 5 // as if the writer had waited that long for the piece
		if r.waited >= patience {
			t.Fatalf("dropped after %d pieces", i+1)
		}
		o.Write(piece)
	}
}

func TestH07ReaderWaitEndsWithItsContext(t *testing.T) {
	var o output
	r := o.read()
	defer r.close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
