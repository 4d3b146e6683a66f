//go:build linux

// Command campaign starts and kills the pair thousands of times, at random moments, and prints what was left behind and
// what was lost. `make campaign` runs it for some minutes; docs/testing.md keeps the last table.
//
//	campaign -bin DIR [-scale 1] [-seed N] [LOAD…]
//
// The loads are runs, killed, mid-launch and start-stop; without a name all of them. Run it as root: an ordinary user cannot
// see the environment of a shim, by which a process that was left is known. Exit status 1: something was left or lost.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"time"
)

// A result is a row of the table.
type result struct {
	asked                         string
	processes, files, descriptors int // left; -1: not a matter of this load
	rows, lines, bytes            int // lost; the same
	notes                         []string
}

func (r *result) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *result) numbers() []int {
	return []int{r.processes, r.files, r.descriptors, r.rows, r.lines, r.bytes}
}

// fixedWithin is what a load may take, however small it is: hosts that start, and what was left that has time to go.
const fixedWithin = 5 * time.Minute

var loads = []struct {
	name   string
	count  int
	within time.Duration // for so many; a load that takes longer ends, and is a failure
	run    func(w *world, n int) (*result, error)
}{
	{"runs", 5000, 2 * time.Hour, runs},
	{"killed", 500, 20 * time.Minute, killed},
	{"mid-launch", 200, 30 * time.Minute, midLaunch},
	{"start-stop", 1000, 30 * time.Minute, startStop},
}

func main() {
	bin := flag.String("bin", "bin", "the folder with host and shim")
	scale := flag.Float64("scale", 1, "how much of each load")
	seed := flag.Int64("seed", time.Now().UnixNano(), "of the random moments")
	flag.Parse()
	clean, err := campaign(*bin, *scale, *seed, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign: error:", err)
	}
	if err != nil || !clean {
		os.Exit(1)
	}
}

func campaign(bin string, scale float64, seed int64, names []string) (clean bool, err error) {
	fmt.Printf("seed %d, scale %g\n\n", seed, scale)
	fmt.Println("| load | left: processes | files | descriptors | lost: rows | lines | bytes | took |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var notes []string
	clean = true
	for _, load := range loads {
		if len(names) > 0 && !slices.Contains(names, load.name) {
			continue
		}
		w, err := newWorld(bin, rand.New(rand.NewSource(seed)), fixedWithin+time.Duration(scale*float64(load.within)))
		if err != nil {
			return false, err
		}
		began := time.Now()
		r, err := load.run(w, max(1, int(float64(load.count)*scale)))
		w.close()
		if err != nil {
			return false, fmt.Errorf("%s: %w", load.name, err)
		}
		fmt.Printf("| %s: %s ", load.name, r.asked)
		for _, n := range r.numbers() {
			clean = clean && n <= 0
			fmt.Printf("| %s ", strings.Replace(fmt.Sprint(n), "-1", "–", 1))
		}
		fmt.Printf("| %v |\n", time.Since(began).Round(time.Second))
		for _, note := range r.notes {
			notes = append(notes, load.name+": "+note)
		}
	}
	fmt.Printf("\n%s\n", strings.Join(notes, "\n"))
	return clean, nil
}
