//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// load is one run of wrk.
type load struct {
	perSecond float64
	requests  float64
}

var (
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	wrkTrouble  = regexp.MustCompile(`Non-2xx.*|Socket errors:.*`)
)

// wrkScript is the request: what Claude Code sends, with the pairing where there is one. It lies in a file, so that
// the pairing is on no command line.
func (b *bench) wrkScript(f front) (string, error) {
	path := filepath.Join(b.dir, "wrk-"+f.name+".lua")
	text := fmt.Sprintf("wrk.method = 'POST'\nwrk.path = '%s/v1/messages?beta=true'\nwrk.body = string.rep('x', %d)\n"+
		"wrk.headers['Content-Type'] = 'application/json'\nwrk.headers['User-Agent'] = 'claude-cli/2.1'\n"+
		"wrk.headers['Anthropic-Beta'] = 'claude-code-20250219'\nwrk.headers['Authorization'] = 'Bearer %s'\n", f.prefix, askBytes, f.pairing)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (b *bench) wrk(f front, conns int, d time.Duration) (load, error) {
	script, err := b.wrkScript(f)
	if err != nil {
		return load{}, err
	}
	out, err := exec.Command("wrk", "-t1", "-c", strconv.Itoa(conns), "-d", strconv.Itoa(int(d.Seconds())), "-s", script, "http://"+f.address).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	if trouble := wrkTrouble.Find(out); trouble != nil {
		return load{}, fmt.Errorf("wrk against %s: %s", f.name, trouble)
	}
	rate, n := wrkRate.FindSubmatch(out), wrkRequests.FindSubmatch(out)
	if rate == nil || n == nil {
		return load{}, fmt.Errorf("wrk said %q", out)
	}
	var l load
	l.perSecond, _ = strconv.ParseFloat(string(rate[1]), 64)
	l.requests, _ = strconv.ParseFloat(string(n[1]), 64)
	return l, nil
}

func proxySection(b *bench, t *table) error {
	if _, err := program("wrk"); err != nil {
		return t.orSkip("requests a second", err)
	}
	for _, scheme := range []string{"http", "https"} {
		fronts, err := b.startFronts(t, scheme)
		if err != nil {
			return err
		}
		if scheme == "https" { // nginx speaks HTTP/1.1 to it, the proxy HTTP/2
			if err := b.throughput(t, "requests at 16 connections, https upstream", fronts, 16, noGoal); err != nil {
				return err
			}
			continue
		}
		for _, c := range []struct {
			conns int
			goal  float64
		}{{1, 0.7}, {16, 0.8}, {64, 0.8}} {
			if err := b.throughput(t, fmt.Sprintf("requests at %d connections", c.conns), fronts, c.conns, ratioAtLeast(c.goal)); err != nil {
				return err
			}
		}
	}
	return b.allocations(t)
}

// startFronts starts an upstream, the proxy before it and, where it is there, nginx.
func (b *bench) startFronts(t *table, scheme string) ([]front, error) {
	upstream, err := b.startUpstream(scheme)
	if err != nil {
		return nil, err
	}
	ours, err := b.startProxy(upstream)
	if err != nil {
		return nil, err
	}
	fronts := []front{ours}
	if ref, err := b.startNginx(upstream); err == nil {
		fronts = append(fronts, ref)
	} else if err := t.orSkip("beside nginx", err); err != nil {
		return nil, err
	}
	return fronts, nil
}

// throughput measures requests a second at so many connections, and the processor time of one.
func (b *bench) throughput(t *table, measure string, fronts []front, conns int, g goal) error {
	cpu := make([]samples, len(fronts))
	var sides []*side
	for i, f := range fronts {
		sides = append(sides, &side{name: f.name, once: func() (float64, error) {
			before, err1 := f.cpu()
			l, err := b.wrk(f, conns, time.Second)
			after, err2 := f.cpu()
			if err == nil && err1 == nil && err2 == nil {
				cpu[i] = append(cpu[i], micros(after-before)/l.requests)
			}
			return l.perSecond, err
		}})
	}
	if err := interleave(b.count(4), sides...); err != nil {
		return err
	}
	var rate, use reference
	if len(fronts) > 1 {
		rate, use = reference{"nginx", sides[1].got}, reference{"nginx", cpu[1][1:]}
	}
	t.add(measure, "/s", sides[0].got, rate, g)
	if conns == 64 {
		t.add("processor time a request at 64", "µs", cpu[0][1:], use, ratioAtMost(1.35))
	}
	return nil
}

var allocsPerRequest = regexp.MustCompile(`([\d.]+) allocs/req`)

// allocations come from the benchmark beside the code, which can look inside.
func (b *bench) allocations(t *table) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "BenchmarkPost/conns=64$", "-benchtime", "3000x", "./host/llmproxy")
	out, err := cmd.CombinedOutput()
	found := allocsPerRequest.FindSubmatch(out)
	if err != nil || found == nil {
		return t.orSkip("allocations a request", skipped{fmt.Sprintf("go test says %v: %.300s", err, out)})
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	t.add("allocations a request at 64", "", samples{n}, reference{}, atMost(75))
	return err
}
