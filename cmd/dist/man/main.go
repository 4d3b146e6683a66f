// Command man turns the man pages' Markdown into roff: man docs/host.1.md [NAME] writes the page to standard output. NAME is
// the name that the program is installed under, in place of host or shim where those stand for a command.
//
// It knows what the pages use and refuses anything else: headings, paragraphs, indented examples, lists, definitions
// ("**--flag**" or "`NAME`", then ": text"), tables, `code`, **strong**, [links](…).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostshim/shim"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: man PAGE.1.md [PREFIX]")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		prefix := ""
		if len(os.Args) == 3 {
			prefix = os.Args[2]
		}
		var page string
		if page, err = render(filepath.Base(os.Args[1]), string(text), prefix, changed(os.Args[1])); err == nil {
			_, err = os.Stdout.WriteString(page)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// changed is the day of the page: SOURCE_DATE_EPOCH's for builds that are to be the same everywhere, else the file's own.
func changed(file string) string {
	day := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		day = time.Unix(seconds, 0)
	} else if at, err := os.Stat(file); err == nil {
		day = at.ModTime()
	}
	return day.UTC().Format(time.DateOnly)
}

// page is one page being rendered.
type page struct {
	prefix  string // of the program's installed name
	out     strings.Builder
	heading bool // the last thing was one: what follows needs no request for a paragraph
}

// render is the roff of a page called name, such as host.1.md.
func render(name, text, prefix, day string) (string, error) {
	title, section, ok := strings.Cut(strings.TrimSuffix(name, ".md"), ".")
	if !ok || section == "" {
		return "", fmt.Errorf("%s: not called NAME.SECTION.md", name)
	}
	p := &page{prefix: prefix}
	fmt.Fprintf(&p.out, "'\\\" t\n.TH %s %s %s \"host and shim %s\"\n.nh\n.ad l\n", strings.ToUpper(prefix+title), section, day, shim.Version)
	for _, b := range blocks(text) {
		if err := p.block(b); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		p.heading = strings.HasPrefix(b[0], "#")
	}
	return p.out.String(), nil
}

// blocks are the text's paragraphs: runs of lines without an empty one. An indented one is an example, whose empty lines
// stay.
func blocks(text string) (all [][]string) {
	var block []string
	end := func() {
		if len(block) > 0 {
			all = append(all, block)
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			end()
			continue
		}
		block = append(block, line)
	}
	end()
	return all
}

func (p *page) block(b []string) error {
	first := b[0]
	switch {
	case strings.HasPrefix(first, "# "):
		return nil // the title line says it
	case strings.HasPrefix(first, "### "):
		fmt.Fprintf(&p.out, ".SS %s\n", p.inline(first[4:]))
	case strings.HasPrefix(first, "## "):
		fmt.Fprintf(&p.out, ".SH %s\n", p.inline(first[3:]))
	case strings.HasPrefix(first, "    "):
		p.example(b)
	case strings.HasPrefix(first, "|"):
		return p.table(b)
	case strings.HasPrefix(first, "- "):
		p.list(b)
	case len(b) > 1 && strings.HasPrefix(b[1], ": "):
		text := append([]string{b[1][2:]}, b[2:]...)
		fmt.Fprintf(&p.out, ".TP\n%s\n%s\n", p.inline(first), p.lines(text))
	case strings.HasPrefix(first, "#") || strings.HasPrefix(first, ">") || strings.HasPrefix(first, "```") || strings.HasPrefix(first, "*"+" "):
		return fmt.Errorf("cannot render: %q", first)
	default:
		p.paragraph()
		p.out.WriteString(p.lines(b) + "\n")
	}
	return nil
}

// paragraph begins one. A heading has begun one itself.
func (p *page) paragraph() {
	if !p.heading {
		p.out.WriteString(".PP\n")
	}
}

// example is text as it stands.
func (p *page) example(b []string) {
	p.paragraph()
	p.out.WriteString(".RS 4\n.nf\n")
	for _, line := range b {
		p.out.WriteString(guard(escape(p.named(strings.TrimPrefix(line, "    ")))) + "\n")
	}
	p.out.WriteString(".fi\n.RE\n")
}

// list is one with a dot before each entry; an entry's further lines are indented.
func (p *page) list(b []string) {
	for _, line := range b {
		text, isNew := strings.CutPrefix(line, "- ")
		if isNew {
			p.out.WriteString(".IP \\(bu 2\n")
		}
		p.out.WriteString(guard(p.inline(strings.TrimSpace(text))) + "\n")
	}
}

// lines are those of a paragraph, joined before they are rendered: code and links can run over a line's end.
func (p *page) lines(b []string) string {
	for i := range b {
		b[i] = strings.TrimSpace(b[i])
	}
	return guard(p.inline(strings.Join(b, " ")))
}

// guard keeps a line that begins with a dot or quote from being taken for a request.
func guard(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// escape is text as roff prints it.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\&...`, "–", `\[en]`, "—", `\[em]`, "×", `\[mu]`, "~", `\[ti]`, "^", `\[ha]`,
		"`", `\[ga]`, "'", `\[aq]`, "→", `\[->]`, "≥", `\[>=]`, "≤", `\[<=]`, "µ", `\[mc]`).Replace(text)
}
