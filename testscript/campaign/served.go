//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A host is a running `host serve`.
type host struct {
	*exec.Cmd
	w      *world
	log    string
	client *http.Client
	ended  chan struct{}
}

// answerWithin is for the longest answer, a log that is followed, beside as many others as the load has.
const answerWithin = 2 * time.Minute

var errRefused = errors.New("host serve ended before it was ready")

func (w *world) serve() (*host, error) {
	log, err := os.CreateTemp(w.dir, "log-*")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h := &host{Cmd: w.command("host", "serve"), w: w, log: log.Name(), ended: make(chan struct{})}
	h.Stderr = log
	h.client = &http.Client{Timeout: answerWithin, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", w.state+"/host.sock")
		},
	}}
	if err := h.Start(); err != nil {
		return nil, err
	}
	go func() {
		h.Wait()
		close(h.ended)
	}()
	deadline := time.After(time.Minute)
	for {
		var status struct{ PID int }
		if text, err := h.call("GET", "/status", nil); err == nil && json.Unmarshal(text, &status) == nil && status.PID == h.Process.Pid {
			return h, nil
		}
		select {
		case <-h.ended:
			text, _ := os.ReadFile(h.log)
			return nil, fmt.Errorf("%w: %s", errRefused, text)
		case <-deadline:
			h.kill()
			return nil, errors.New("host serve is not ready after a minute")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (h *host) kill() {
	h.Process.Kill()
	<-h.ended
	h.client.CloseIdleConnections()
}

func (h *host) call(method, path string, request any) ([]byte, error) {
	var body bytes.Buffer
	if request != nil {
		if err := json.NewEncoder(&body).Encode(request); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequest(method, "http://host"+path, &body)
	if err != nil {
		return nil, err
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return text, err
}

func (h *host) launch(id, kind, script string) error {
	_, err := h.call("POST", "/launch", map[string]any{"v": 1, "session_id": id, "kind": kind, "directory": h.w.project,
		"sandbox": map[string]any{}, "argv": []string{"sh", "-c", script}})
	return err
}

// killed has n live sessions, terminals and pipes in turn, when their host is killed.
func killed(w *world, n int) (*result, error) {
	r := &result{asked: fmt.Sprintf("%d live sessions, their host killed", n), descriptors: -1, lines: -1, bytes: -1}
	h, err := w.serve()
	if err != nil {
		return nil, err
	}
	seen := make([]string, n)
	err = w.each(n, 8, func(i int) error {
		seen[i] = fmt.Sprintf("killed-%d", i)
		return h.launch(seen[i], []string{"pty", "pi"}[i%2], target)
	})
	if err != nil {
		return nil, err
	}
	h.kill()
	return r, w.end(r, seen)
}

// midLaunch kills the host n times at a random moment of a few launches, and starts the next one at once.
func midLaunch(w *world, n int) (*result, error) {
	r := &result{asked: fmt.Sprintf("%d × host serve, killed in mid-launch", n), descriptors: -1, lines: -1, bytes: -1}
	h, err := w.serve()
	if err != nil {
		return nil, err
	}
	first := 0
	usual, err := median(func() error { first++; return h.launch(fmt.Sprintf("first-%d", first), "pty", target) })
	if err != nil {
		return nil, err
	}
	h.kill()
	var mu sync.Mutex
	var seen []string
	refused := 0
	for i := range n {
		h, err := w.serve()
		for try := 0; errors.Is(err, errRefused) && try < 100; try++ {
			refused++
			h, err = w.serve()
		}
		if err == nil && w.over.Err() != nil {
			err = context.Cause(w.over)
		}
		if err != nil {
			return nil, err
		}
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				id := fmt.Sprintf("mid-%d-%d", i, c)
				if h.launch(id, []string{"pty", "pi"}[c%2], target) == nil {
					mu.Lock()
					seen = append(seen, id)
					mu.Unlock()
				}
			})
		}
		<-time.After(w.within(4 * usual)) // four at once
		h.kill()
		clients.Wait()
	}
	r.note("%d launches were answered, %d starts right after a kill were refused", len(seen), refused)
	return r, w.end(r, seen)
}

const printed = 8192

// startStop starts and stops n sessions from 16 clients. What a target printed is read while it runs and again after its end.
func startStop(w *world, n int) (*result, error) {
	r := &result{asked: fmt.Sprintf("%d × start and stop from 16 clients", n)}
	h, err := w.serve()
	if err != nil {
		return nil, err
	}
	if err := h.startStop("first", new(int)); err != nil { // what is opened once is open now
		return nil, err
	}
	before := h.descriptors()
	seen, missing := make([]string, n), make([]int, n)
	err = w.each(n, 16, func(i int) error {
		seen[i] = fmt.Sprintf("stop-%d", i)
		return h.startStop(seen[i], &missing[i])
	})
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		r.bytes += m
	}
	h.client.CloseIdleConnections()
	r.descriptors = left(func() int { return max(0, h.descriptors()-before) })
	r.lines = left(func() int { return h.lacks(seen, "session started") + h.lacks(seen, "session ended") })
	h.Process.Signal(os.Interrupt)
	<-h.ended
	return r, w.end(r, append(seen, "first"))
}

// startStop starts a session, reads what it prints, stops it, and counts the bytes that are missing.
func (h *host) startStop(id string, missing *int) error {
	if err := h.launch(id, "pi", fmt.Sprintf("printf %%0%dd 0; exec sleep 600", printed)); err != nil {
		return err
	}
	res, err := h.client.Get("http://host/sessions/" + id + "/log?follow=1")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	first, err := io.ReadFull(res.Body, make([]byte, printed))
	if err != nil {
		return fmt.Errorf("the output of %s ended after %d bytes: %w", id, first, err)
	}
	if _, err := h.call("POST", "/terminate", map[string]string{"session_id": id, "reason": "campaign"}); err != nil {
		return err
	}
	rest, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	again, err := h.call("GET", "/sessions/"+id+"/log", nil)
	*missing += len(rest) + max(printed-len(again), len(again)-printed)
	return err
}

func (h *host) descriptors() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.Process.Pid))
	return len(entries)
}

// lacks counts the sessions of which the host's log has no such line.
func (h *host) lacks(ids []string, message string) (n int) {
	text, _ := os.ReadFile(h.log)
	for _, id := range ids {
		if !strings.Contains(string(text), fmt.Sprintf(`"msg":"%s","session":"%s"`, message, id)) {
			n++
		}
	}
	return n
}
