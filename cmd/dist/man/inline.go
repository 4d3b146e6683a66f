package main

import (
	"fmt"
	"regexp"
	"strings"
)

// What stands for a command of ours: host and shim where a program's name is meant.
var ours = regexp.MustCompile(`(^|[\s(/|])(host|shim)((?:\(1\))|[ :;.,]|$)`)

// named gives the programs the names that they are installed under.
func (p *page) named(text string) string {
	if p.prefix == "" {
		return text
	}
	return ours.ReplaceAllString(text, "${1}"+p.prefix+"${2}${3}")
}

// inline renders `code`, **strong** and [links](…). Code and strong are bold; of a link the text stays, and its target where
// that is a page of its own.
func (p *page) inline(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "`*[")
		if at < 0 {
			break
		}
		b.WriteString(escape(text[:at]))
		text = text[at:]
		switch {
		case text[0] == '`':
			code, rest, ok := strings.Cut(text[1:], "`")
			if !ok {
				b.WriteString(escape(text[:1]))
				text = text[1:]
				continue
			}
			b.WriteString(`\fB` + escape(p.named(code)) + `\fR`)
			text = rest
		case strings.HasPrefix(text, "**"):
			strong, rest, ok := strings.Cut(text[2:], "**")
			if !ok {
				b.WriteString("**")
				text = text[2:]
				continue
			}
			b.WriteString(`\fB` + escape(p.named(strong)) + `\fR`)
			text = rest
		case text[0] == '[' && strings.Contains(text, "]("):
			label, rest, _ := strings.Cut(text[1:], "](")
			_, rest, _ = strings.Cut(rest, ")")
			if strings.HasSuffix(label, "(1)") {
				label = p.prefix + label
			}
			b.WriteString(`\fI` + escape(label) + `\fR`)
			text = rest
		default:
			b.WriteString(escape(text[:1]))
			text = text[1:]
		}
	}
	b.WriteString(escape(text))
	return b.String()
}

// table renders one with tbl. The last column takes what the others leave: its text is wrapped.
func (p *page) table(b []string) error {
	var rows [][]string
	for i, line := range b {
		line = strings.ReplaceAll(line, `\|`, "\x00")
		if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") {
			return fmt.Errorf("cannot render the row %q", line)
		}
		if i == 1 && strings.Trim(line, "|-: ") == "" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.ReplaceAll(strings.TrimSpace(cells[j]), "\x00", "|")
		}
		rows = append(rows, cells)
	}
	columns := len(rows[0])
	formats := "l" + strings.Repeat(" l", columns-1)
	if columns > 1 {
		// The last column takes what is left of the line.
		formats = strings.Repeat("l ", columns-1) + "lx"
	}
	p.paragraph()
	fmt.Fprintf(&p.out, ".TS\ntab(\t);\n%s.\n", formats)
	for _, row := range rows {
		if len(row) != columns {
			return fmt.Errorf("a row of %d cells in a table of %d: %q", len(row), columns, row)
		}
		for j, cell := range row {
			if j > 0 {
				p.out.WriteString("\t")
			}
			text := strings.ReplaceAll(p.inline(cell), "/", `/\:`) // a path may break there
			if text != "" && (j == columns-1 || len(cell) > 24) {
				text = "T{\n" + guard(text) + "\nT}"
			}
			p.out.WriteString(text)
		}
		p.out.WriteString("\n")
	}
	p.out.WriteString(".TE\n")
	return nil
}
