package testscript

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A word is what stands between two blanks of a line, in pieces. Text in single quotes is taken as it is; in the rest
// variables are replaced.
type word []piece

type piece struct {
	text   string
	quoted bool
}

// bare is the word's text when no part of it is quoted: only such a word can be a redirect, a condition or &name&.
func (w word) bare() string {
	if len(w) == 1 && !w[0].quoted {
		return w[0].text
	}
	return ""
}

var lexeme = regexp.MustCompile(`^(?:'((?:[^']|'')*)'|([^' \t]+)|[ \t]+)`)

// splitLine splits a line at blanks. A # that begins a word starts a comment; two quotes inside a quoted text are one.
func splitLine(line string) (words []word, err error) {
	inWord := false
	for line != "" {
		m := lexeme.FindStringSubmatchIndex(line)
		if m == nil {
			return nil, errors.New("quote is not closed")
		}
		text, quoted, blank := line[:m[1]], m[2] >= 0, m[2] < 0 && m[4] < 0
		line = line[m[1]:]
		switch {
		case blank:
			inWord = false
			continue
		case quoted:
			text = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
		case !inWord && text[0] == '#':
			return words, nil
		}
		if !inWord {
			words, inWord = append(words, nil), true
		}
		last := &words[len(words)-1]
		*last = append(*last, piece{text, quoted})
	}
	return words, nil
}

var variable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)

// expand gives a word its value. In a regular expression a variable's value stands for itself, not for a pattern.
func (s *script) expand(w word, inRegexp bool) (string, error) {
	var b strings.Builder
	for _, p := range w {
		text := p.text
		if !p.quoted {
			var err error
			if text, err = s.expandText(text, inRegexp); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (s *script) expandText(text string, inRegexp bool) (string, error) {
	var missing error
	text = variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.Trim(ref, "${}")
		value, ok := s.vars[name] // the script's own, which no program sees
		if !ok {
			value, ok = s.env[name]
		}
		if !ok {
			missing = fmt.Errorf("variable %q is not set", name)
		}
		if inRegexp {
			return regexp.QuoteMeta(value)
		}
		return value
	})
	return text, missing
}
