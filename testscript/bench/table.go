//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is what one section prints.
type table struct {
	title string
	rows  [][]string
	notes []string
}

var columns = []string{"measure", "ours", "p95", "reference", "its median", "ratio", "goal", "", "CPU µs", "faults", "switches"}

// goal is what a row has to reach: nothing, a value of our own, or a ratio to the reference.
type goal struct {
	limit float64
	least bool // the value is to be at least the limit
	ratio bool
}

var noGoal = goal{limit: math.NaN()}

func atMost(x float64) goal       { return goal{limit: x} }
func ratioAtMost(x float64) goal  { return goal{limit: x, ratio: true} }
func ratioAtLeast(x float64) goal { return goal{limit: x, ratio: true, least: true} }

// reference is what a row is compared with.
type reference struct {
	name string
	got  samples
}

func (s *side) reference() reference { return reference{s.name, s.got} }

// compare makes a row of two sides that run programs, with what both used.
func (t *table) compare(measure string, ours, ref *side, g goal) {
	t.add(measure, "µs", ours.got, ref.reference(), g)
	row := t.rows[len(t.rows)-1]
	for i, pair := range [][2]samples{{ours.used.cpu, ref.used.cpu}, {ours.used.faults, ref.used.faults}, {ours.used.switches, ref.used.switches}} {
		if len(pair[0]) > 0 {
			row[8+i] = amount(pair[0].median(), "") + " / " + amount(pair[1].median(), "")
		}
	}
}

// add makes a row. Unit is for printing; ours and the reference are in that unit.
func (t *table) add(measure, unit string, ours samples, ref reference, g goal) {
	value := ours.median()
	row := []string{measure, amount(value, unit), "–", "–", "–", "–", "–", "", "–", "–", "–"}
	if len(ours) > 1 {
		// The bad end of a rate is the low one.
		q := 0.95
		if strings.HasSuffix(unit, "/s") {
			q = 0.05
		}
		row[2] = amount(ours.quantile(q), unit)
	}
	ratio := math.NaN()
	if len(ref.got) > 0 {
		ratio = value / ref.got.median()
		row[3], row[4], row[5] = ref.name, amount(ref.got.median(), unit), fmt.Sprintf("%.2f ×", ratio)
	}
	if !math.IsNaN(g.limit) {
		sign, limit := "≤ ", amount(g.limit, unit)
		if g.least {
			sign = "≥ "
		}
		if g.ratio {
			limit, value = fmt.Sprintf("%.2f ×", g.limit), ratio
		}
		row[6], row[7] = sign+limit, "missed"
		if g.least && value >= g.limit || !g.least && value <= g.limit {
			row[7] = "met"
		}
		if math.IsNaN(value) {
			row[7] = "not compared"
		}
	}
	t.rows = append(t.rows, row)
}

func amount(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case unit == "":
		return fmt.Sprintf("%.0f", v)
	case unit == "×":
		return fmt.Sprintf("%.2f ×", v)
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// print writes the table as Markdown whose columns also line up in a terminal.
func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n## %s\n\n", t.title)
	rows := append([][]string{columns}, t.rows...)
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
	}
	line(rows[0])
	for _, width := range widths {
		fmt.Fprint(w, "|", strings.Repeat("-", width+2))
	}
	fmt.Fprintln(w, "|")
	for _, row := range t.rows {
		line(row)
	}
	for _, n := range t.notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}
