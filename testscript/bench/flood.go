//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const pairings = 64

// flood is a client of a proxy: good requests one after another, and bad ones beside them.
type flood struct {
	address string
	secrets []string
	sent    int
	refused atomic.Int64
}

func (b *bench) newFlood() (*flood, *host, error) {
	upstream, err := b.startUpstream("http")
	if err != nil {
		return nil, nil, err
	}
	h, err := b.startHost("flood", "http://"+upstream.address)
	if err != nil {
		return nil, nil, err
	}
	f := &flood{}
	for range pairings {
		var secret string
		if secret, f.address, err = h.pairing(); err != nil {
			return nil, nil, err
		}
		f.secrets = append(f.secrets, secret)
	}
	return f, h, nil
}

func (f *flood) post(client *http.Client, secret string) (int, error) {
	r, err := http.NewRequest("POST", "http://"+f.address+"/sandbox/v1/messages", bytes.NewReader(make([]byte, 1024)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// good sends the next pairing's request and waits for its answer.
func (f *flood) good() (float64, error) {
	f.sent++
	begun := time.Now()
	status, err := f.post(http.DefaultClient, f.secrets[f.sent%pairings])
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return micros(time.Since(begun)), err
}

// start sends requests that are refused, 10,000 a second or as many as are answered, until stop is called.
func (f *flood) start() (stop func()) {
	const clients = 8
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			tick := time.NewTicker(time.Second * clients / 10_000)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
					if _, err := f.post(client, "not-a-pairing"); err == nil {
						f.refused.Add(1)
					}
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}

// refusedFlood measures requests of many pairings, one after another, alone and beside refused ones.
func (b *bench) refusedFlood(t *table) error {
	f, h, err := b.newFlood()
	if err != nil {
		return err
	}
	alone, beside := &side{name: "alone", once: f.good}, &side{name: "beside", once: f.good}
	if err := interleave(b.count(400), alone); err != nil {
		return err
	}
	before, noMemory := settledMemory(h.Process.Pid)
	begun, stop := time.Now(), f.start()
	time.Sleep(time.Second)
	err = interleave(b.count(400), beside)
	rate := float64(f.refused.Load()) / time.Since(begun).Seconds()
	stop()
	if err != nil {
		return err
	}
	t.add(fmt.Sprintf("a request of one of %d pairings, beside %.0f refused a second", pairings, rate), "µs", beside.got, alone.reference(), noGoal)
	if after, err := settledMemory(h.Process.Pid); err == nil && noMemory == nil {
		t.add(fmt.Sprintf("the host's memory after %d refused ones", f.refused.Load()), "KiB", samples{after}, reference{"before", samples{before}}, noGoal)
	}
	return nil
}
