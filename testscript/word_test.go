package testscript

import (
	"fmt"
	"regexp"
	"strings"
)

// A word is what stands between two blanks of a line, in pieces: text in single quotes is taken as it is,
// in the rest variables are replaced.
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

// splitLine splits a line at blanks; a # that begins a word starts a comment, two quotes inside a quoted text are one.
func splitLine(line string) ([]word, error) {
	var words []word
	var w word
	text, quoted, open := "", false, false
	flush := func() {
		if text != "" || quoted {
			w = append(w, piece{text, quoted})
			text = ""
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'' && quoted && strings.HasPrefix(line[i+1:], "'"):
			text += "'"
			i++
		case c == '\'':
			flush()
			quoted, open = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			flush()
			if open {
				words, w, open = append(words, w), nil, false
			}
		case !quoted && c == '#' && !open:
			return words, nil
		default:
			text += line[i : i+1]
			open = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("quote is not closed")
	}
	flush()
	if open {
		words = append(words, w)
	}
	return words, nil
}

var variable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)

// expand gives a word its value. In a regular expression a variable's value stands for itself, not for a pattern.
func (s *script) expand(w word, inRegexp bool) (string, error) {
	var b strings.Builder
	for _, p := range w {
		if p.quoted {
			b.WriteString(p.text)
			continue
		}
		text, err := s.expandText(p.text, inRegexp)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (s *script) expandText(text string, inRegexp bool) (string, error) {
	var missing error
	text = variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.Trim(ref, "${}")
		value, ok := s.lookup(name)
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

// lookup finds a variable: the script's own first, which no program ever sees, then the environment.
func (s *script) lookup(name string) (string, bool) {
	if v, ok := s.vars[name]; ok {
		return v, true
	}
	v, ok := s.env[name]
	return v, ok
}
