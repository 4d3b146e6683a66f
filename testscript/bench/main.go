//go:build linux

// Command bench measures the pair beside the best programs of their kind, interleaved in one run, and prints a
// table a section. `make bench` starts it; README.md explains every measure.
//
//	bench [-bin DIR] [-rounds N] [-sessions N] [SECTION...]
//
// Exit status: 0 when everything could be measured, whether or not a goal was met; 1 otherwise.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
)

// section is one table.
type section struct {
	name, title string
	run         func(*bench, *table) error
}

// sections in the order in which they run: what needs a quiet machine first.
var sections = []section{
	{"start", "Starting a program", startSection},
	{"signal", "Passing a signal on", signalSection},
	{"launch", "The long-lived host: launches, memory", launchSection},
	{"proxy", "The model proxy: 115 KB up, 2 KB down", proxySection},
	{"stream", "The model proxy: streams", streamSection},
	{"tunnel", "The way out by name", tunnelSection},
	{"growth", "Growth", growthSection},
	{"size", "Binaries, stripped", sizeSection},
}

// bench is one run: a folder of its own, and every process that was started in it.
type bench struct {
	bin      string // folder of host and shim, copied
	built    string // folder of host and shim as they were built
	dir      string
	rounds   int  // percent of the usual rounds
	large    bool // growth is measured with the largest sizes
	sessions int  // live ones at most, while it is
	mu       sync.Mutex
	procs    []*proc
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == upstreamArg {
		fmt.Fprintln(os.Stderr, serveUpstream(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) == 5 && os.Args[1] == tunnelArg {
		if err := tunnelClient(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run())
}

func run() int {
	b := &bench{}
	flag.StringVar(&b.bin, "bin", "bin", "folder of the stripped host and shim")
	flag.IntVar(&b.rounds, "rounds", 100, "percent of the usual rounds")
	flag.IntVar(&b.sessions, "sessions", 0, "live sessions at most, in growth (default: 1000, and 4000 where growth is named)")
	flag.Parse()
	if b.large = slices.Contains(flag.Args(), "growth"); b.sessions == 0 && b.large {
		b.sessions = 4000
	} else if b.sessions == 0 {
		b.sessions = 1000
	}
	debug.SetGCPercent(400) // a collection in the middle of a measure would be counted to what is measured
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := b.open(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		return 1
	}
	defer b.close()
	go func() {
		<-stop
		b.close()
		os.Exit(1)
	}()
	describeMachine()
	begun, code := time.Now(), 0
	for _, s := range sections {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), s.name) {
			continue
		}
		t := &table{title: s.title}
		err := s.run(b, t)
		t.print(os.Stdout)
		if err != nil {
			fmt.Printf("%s: cut short: %v\n", s.name, err)
			code = 1
		}
		b.stopAll()
	}
	fmt.Printf("\nmeasured in %v\n", time.Since(begun).Round(time.Second))
	return code
}

// describeMachine says what the numbers were taken on.
func describeMachine() {
	var u syscall.Utsname
	syscall.Uname(&u)
	fmt.Printf("%s, Linux %s, load %s; %s\n", machine(), cString(u.Release[:]), firstField("/proc/loadavg"), cpuidCost())
}

// skipped is why something was not measured.
type skipped struct{ why string }

func (s skipped) Error() string { return s.why }

// missing says that a program is not installed.
func missing(program string) error {
	return skipped{program + " is not installed"}
}

// orSkip notes in the table why a row is not there, and passes other errors on.
func (t *table) orSkip(what string, err error) error {
	var s skipped
	if errors.As(err, &s) {
		t.notes = append(t.notes, "skipped "+what+": "+s.why)
		return nil
	}
	return err
}

// count is a number of rounds, scaled as the command line asks.
func (b *bench) count(usual int) int { return max(3, usual*b.rounds/100) }
