package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// tableWidth is how wide a list is, in columns, unless the terminal is wider (U04).
const tableWidth = 80

// tableRows is how many rows are lined up at a time.
const tableRows = 500

// column is one column of a list.
type column struct {
	title string
	least int  // how narrow it may be made, in columns; 0: it is never cut
	id    bool // commands take its beginning, so that is shown, as long as no two are alike
}

// table lines up rows for people, some at a time. Values that do not fit are cut: --json has them whole.
type table struct {
	columns []column
	width   int
	out     io.Writer
	rows    [][]string
	titled  bool
}

func newTable(out io.Writer, columns ...column) *table {
	width := tableWidth
	if isTerminal(os.Stdout) {
		cols, _ := terminalSize(os.Stdout)
		width = max(width, cols)
	}
	return &table{columns: columns, width: width, out: out}
}

// add adds a row. A cell's control characters never reach the terminal.
func (t *table) add(cells ...string) error {
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	if t.rows = append(t.rows, cells); len(t.rows) == tableRows {
		return t.flush()
	}
	return nil
}

// end prints what is left, and the titles where there was no row if titles is true.
func (t *table) end(titles bool) error {
	if len(t.rows) > 0 || titles && !t.titled {
		return t.flush()
	}
	return nil
}

func (t *table) flush() error {
	var lines [][]string
	if !t.titled {
		t.titled = true
		var titles []string
		for _, c := range t.columns {
			titles = append(titles, c.title)
		}
		lines = append(lines, titles)
	}
	lines = append(lines, t.rows...)
	t.rows = nil
	widths := t.fit(lines)
	var b strings.Builder
	for _, cells := range lines {
		b.Reset()
		for i, cell := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			if t.columns[i].id {
				cell = cell[:min(len(cell), widths[i])]
			}
			cell = cut(cell, widths[i])
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", max(0, widths[i]-columns(cell))))
		}
		if _, err := fmt.Fprintln(t.out, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// fit is how wide each column becomes: as its widest cell. Where all together do not fit, ids are made shorter first, for
// nothing is lost by that, then whatever is widest.
func (t *table) fit(lines [][]string) []int {
	widths, least := make([]int, len(t.columns)), make([]int, len(t.columns))
	sum := 2 * (len(t.columns) - 1)
	for i, c := range t.columns {
		var cells []string
		for _, line := range lines {
			cells = append(cells, line[i])
			widths[i] = max(widths[i], columns(line[i]))
		}
		sum += widths[i]
		if least[i] = c.least; c.id {
			least[i] = unlike(cells)
		}
	}
	for ; sum > t.width; sum-- {
		widest := -1
		for i, c := range t.columns {
			if least[i] > 0 && widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest] || c.id) {
				if widest = i; c.id {
					break
				}
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// cut shortens text to a width, in columns, in its middle.
func cut(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	runes, used := []rune(text), 0
	var front, back []rune
	for _, c := range runes {
		if used+runeColumns(c) > (width-1)/2 {
			break
		}
		used += runeColumns(c)
		front = append(front, c)
	}
	for i := len(runes) - 1; i >= 0 && used+runeColumns(runes[i]) <= width-1; i-- {
		used += runeColumns(runes[i])
		back = append(back, runes[i])
	}
	slices.Reverse(back)
	return string(front) + "…" + string(back)
}

// columns is how many columns text takes on a terminal.
func columns(text string) (n int) {
	for _, c := range text {
		n += runeColumns(c)
	}
	return n
}

// runeColumns is two for what East Asian scripts and pictures take, none for a mark on the letter before.
func runeColumns(c rune) int {
	switch {
	case unicode.In(c, unicode.Mn, unicode.Me):
		return 0
	case c >= 0x1100 && c <= 0x115f, c >= 0x2e80 && c <= 0xa4cf, c >= 0xac00 && c <= 0xd7a3, c >= 0xf900 && c <= 0xfaff,
		c >= 0xfe30 && c <= 0xfe6f, c >= 0xff00 && c <= 0xff60, c >= 0x1f300 && c <= 0x1faff, c >= 0x20000 && c <= 0x3fffd:
		return 2
	}
	return 1
}

// plain is text that stays in its column: whoever asked for a launch chose some of it, and must not write to the
// terminal of who reads the rows.
func plain(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return cmp.Or(text, "-")
}

// age is how long ago a moment was, for people: 5s, 3m, 2h, 4d; "-" for a time that cannot be read.
func age(text string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "-"
	}
	return roughly(max(0, now.Sub(t)))
}

func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// unlike is how many characters of ids it takes so that no two are alike, ten at least.
func unlike(ids []string) int {
	n := 10
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for i := 1; i < len(ids); i++ {
		same := 0
		for same < min(len(ids[i]), len(ids[i-1])) && ids[i][same] == ids[i-1][same] {
			same++
		}
		n = max(n, same+1)
	}
	return n
}

// buffered is standard output for a list, and what ends it.
func buffered() (*bufio.Writer, func(error) int) {
	out := bufio.NewWriter(os.Stdout)
	return out, func(err error) int {
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
		if err != nil {
			return fail(err)
		}
		return 0
	}
}
