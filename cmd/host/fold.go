package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// helpWidth is the width in characters of help texts: that of the narrowest usual terminal.
const helpWidth = 80

// fold joins words to lines of a width, each but the first behind indent blanks. The first one starts in column indent.
// A word that is longer keeps a line of its own.
func fold(words []string, indent, width int) string {
	var b strings.Builder
	column := indent
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// showField prints a fact.
func showField(name, text string) { fmt.Println(foldedHere(name+": "+oneLine(text), 4)) }

// foldedHere is a line of output, for a script as it is. Where a person reads, on a terminal, a long one is folded.
func foldedHere(line string, indent int) string {
	if !isTerminal(os.Stdout) {
		return line
	}
	cols, _ := terminalSize(os.Stdout)
	return fold(strings.Split(line, " "), indent, cols)
}

// folded is a text whose paragraphs of prose are folded. One with an indented line, and a line that is to be copied, stay as they are.
func folded(text string) string {
	paragraphs := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	for i, p := range paragraphs {
		body := strings.TrimLeft(p, "\n")
		if body == "" || strings.HasPrefix(body, "example: ") || strings.HasPrefix(body, " ") || strings.Contains(body, "\n ") {
			continue
		}
		paragraphs[i] = p[:len(p)-len(body)] + fold(strings.Fields(body), 0, helpWidth)
	}
	return strings.Join(paragraphs, "\n\n") + strings.Repeat("\n", len(text)-len(strings.TrimSuffix(text, "\n")))
}
