package server

import (
	"bytes"
	"context"
	"errors"
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
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
			if got, _ := o.snapshot(0); !bytes.Equal(got, want) || o.size() != int64(total) {
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
		r := o.read(0) // all of it so far, then what comes
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
	synctest.Test(t, func(t *testing.T) {
		var o output
		stalled := o.read(0)
		start := time.Now()
		o.Write(numbers(0, 3*maxLog))
		if waited := time.Since(start); waited != patience {
			t.Errorf("the writer waited %v", waited)
		}
		o.Write(numbers(0, 3*maxLog))
		if waited := time.Since(start); waited != patience {
			t.Errorf("the writer waited again for a reader it had dropped: %v", waited)
		}
		if _, done, err := stalled.next(make([]byte, 10)); !done || !errors.Is(err, errTooSlow) {
			t.Errorf("the stalled reader got %v, %v", done, err)
		}
		if err := stalled.wait(context.Background()); err != nil {
			t.Error(err)
		}
		stalled.close()
		start = time.Now()
		defer o.read(0).close()
		if o.Write(numbers(0, 1)); time.Since(start) != patience {
			t.Errorf("patience came back to %v only", time.Since(start))
		}
	})
}

// paced reads size bytes at a time at a rate of bytes a second, as a socket's buffer lets a slow client, until it is
// dropped or there is no more.
func paced(r *reader, size, rate int) (total int, err error) {
	defer r.close()
	buf := make([]byte, size)
	for {
		for got := 0; got < size; {
			n, done, err := r.next(buf[got:])
			if total += n; done || err != nil {
				return total, err
			}
			if got += n; n == 0 {
				r.wait(context.Background())
			}
		}
		<-time.After(time.Duration(size) * time.Second / time.Duration(rate))
	}
}

// A terminal that shows less than a session prints slows it, and sees every byte if it takes 100 KiB a second.
func TestH07ReaderThatKeepsUpIsKept(t *testing.T) {
	const all = 100 * maxLog
	for _, size := range []int{4 << 10, 16 << 10, 150 << 10} {
		for rate, kept := range map[int]bool{110 << 10: true, 300 << 10: true, 10 << 20: true, 50 << 10: false, 80 << 10: false} {
			synctest.Test(t, func(t *testing.T) {
				var o output
				r := o.read(0)
				go func() {
					for range all / 1000 {
						o.Write(make([]byte, 1000))
					}
					o.end()
				}()
				start := time.Now()
				total, err := paced(r, size, rate)
				if kept != (err == nil) || kept && total != all {
					t.Errorf("%d bytes a second by %d: %d bytes in %v, %v", rate, size, total, time.Since(start), err)
				}
			})
		}
	}
}

// However many readers come and do not read: all together they slow a session no more than one may.
func TestH07ReadersShareThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o output
		start := time.Now()
		for range 20 * maxLog / 1000 {
			<-time.After(10 * time.Millisecond) // the session's own pace, also 100 KiB a second
			o.read(0)
			o.Write(make([]byte, 1000))
		}
		if took := time.Since(start); took < 35*time.Second || took > 41*time.Second+patience {
			t.Errorf("20 logs took %v", took)
		}
	})
}

func TestH07ReaderWaitEndsWithItsContext(t *testing.T) {
	var o output
	r := o.read(0)
	defer r.close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
