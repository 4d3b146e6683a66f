//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// open sends a GET for one stream and returns its connection.
func (f front) open(path string) (net.Conn, error) {
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n", f.prefix, path, f.address, f.pairing)
	return c, err
}

// events reads one stream to its end and returns how long each event was on its way, in microseconds.
func (f front) events(n int) (took samples, err error) {
	c, err := f.open("/events/" + strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(time.Duration(n)*eventGap + 10*time.Second))
	var rest []byte
	buf := make([]byte, 16<<10)
	for len(took) < n {
		m, err := c.Read(buf)
		now := time.Now().UnixNano()
		if err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", len(took), n, err)
		}
		rest = append(rest, buf[:m]...)
		const digits = 19
		for {
			i := bytes.Index(rest, []byte(eventMark))
			if i < 0 || len(rest) < i+len(eventMark)+digits {
				break
			}
			rest = rest[i+len(eventMark):]
			sent, err := strconv.ParseInt(string(rest[:digits]), 10, 64)
			if err != nil {
				return nil, err
			}
			took = append(took, float64(now-sent)/1e3)
		}
	}
	return took, nil
}

// atOnce reads several streams at once.
func (f front) atOnce(streams, n int) (all samples, err error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range streams {
		wg.Go(func() {
			took, e := f.events(n)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if e != nil {
				err = fmt.Errorf("%s: %w", f.name, e)
			}
		})
	}
	wg.Wait()
	return all, err
}

func streamSection(b *bench, t *table) error {
	raiseFiles()
	fronts, err := b.startFronts(t, "http")
	if err != nil {
		return err
	}
	direct := front{name: "direct", address: fronts[0].upstream}
	if err := b.idleStreams(t, fronts); err != nil {
		return err
	}
	for _, s := range []struct {
		streams int
		goal    float64
	}{{1, 1.3}, {64, 1.0}} {
		if err := b.delays(t, direct, fronts, s.streams, s.goal); err != nil {
			return err
		}
	}
	return nil
}

// delays measures what each front adds to an event's way. One round is a quarter of a second of events through each, and
// as many past it directly before: what else the machine does meets both of a pair.
func (b *bench) delays(t *table, direct front, fronts []front, streams int, limit float64) error {
	added, all := make([]samples, len(fronts)), make([]samples, len(fronts))
	var bare samples
	for i := range b.count(16) + 1 {
		for j, f := range fronts {
			without, err := direct.atOnce(streams, 50)
			if err != nil {
				return err
			}
			with, err := f.atOnce(streams, 50)
			if err != nil {
				return err
			}
			if i > 0 {
				bare, all[j] = append(bare, without...), append(all[j], with...)
				added[j] = append(added[j], with.median()-without.median())
			}
		}
	}
	var ref reference
	if len(fronts) > 1 {
		ref = reference{"nginx", added[1]}
	}
	t.add(fmt.Sprintf("added to an event, %d streams, median", streams), "µs", added[0], ref, ratioAtMost(limit))
	note := fmt.Sprintf("Events, %d streams, from upstream to client: direct %.0f µs", streams, bare.median())
	for j, f := range fronts {
		note += fmt.Sprintf("; %s %.0f µs (p95 %.0f, p99 %.0f)", f.name, all[j].median(), all[j].quantile(0.95), all[j].quantile(0.99))
	}
	t.notes = append(t.notes, note+".")
	return nil
}

// idleStreams measures the memory of streams that wait for their next event.
func (b *bench) idleStreams(t *table, fronts []front) error {
	const streams = 1000
	var per [2]samples
	for i, f := range fronts {
		if _, err := f.atOnce(4, 20); err != nil { // what it needs for the first ones
			return err
		}
		time.Sleep(time.Second)
		before, err := f.memory()
		if err != nil {
			return t.orSkip("memory of idle streams", err)
		}
		conns, err := f.hold(streams)
		if err == nil {
			time.Sleep(2 * time.Second)
			var after float64
			after, err = f.memory()
			per[i] = samples{(after - before) / streams}
		}
		for _, c := range conns {
			c.Close()
		}
		if err != nil {
			return err
		}
	}
	var ref reference
	if len(fronts) > 1 {
		ref = reference{"nginx", per[1]}
	}
	t.add(fmt.Sprintf("memory per idle stream, at %d", streams), "KiB", per[0], ref, atMost(32))
	return nil
}

// hold opens streams and waits until each has had its first event.
func (f front) hold(streams int) (conns []net.Conn, err error) {
	buf := make([]byte, 4<<10)
	for range streams {
		c, err := f.open("/idle")
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		for got := 0; ; {
			n, err := c.Read(buf[got:])
			if err != nil {
				return conns, fmt.Errorf("%s: stream %d: %w", f.name, len(conns), err)
			}
			if got += n; bytes.Contains(buf[:got], []byte(eventMark)) {
				break
			}
		}
	}
	return conns, nil
}
