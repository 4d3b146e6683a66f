package sandbox

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoteSBPL writes s as an SBPL string. Nothing is escaped, because what the profile compiler makes of an
// escape is written down nowhere: a path that would need one refuses the profile.
func quoteSBPL(s string) (string, error) {
	if err := quotable(s); err != nil {
		return "", err
	}
	return `"` + s + `"`, nil
}

// quotable refuses what could end a string, or be read as something else inside one.
func quotable(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("path %q is not UTF-8: no profile can name it", s)
	}
	for _, r := range s {
		if r == '"' || r == '\\' || unicode.IsControl(r) {
			return fmt.Errorf("path %q holds %q: no profile can name it safely", s, r)
		}
	}
	return nil
}

// anyCase is a regular expression for a path that is missing. From byte from on, letter case does not count: on most
// Macs Token and token are one file, and no stored spelling says yet which. A letter beyond ASCII has several encodings
// too, so any text matches in its place. That denies too much, never too little. after is what may follow.
func anyCase(path string, from int, after string) (string, error) {
	if err := quotable(path); err != nil {
		return "", err
	}
	var re strings.Builder
	re.WriteString(`#"^`)
	literally(&re, path[:from])
	wild := false
	for _, r := range path[from:] {
		lower, upper := unicode.ToLower(r), unicode.ToUpper(r)
		switch {
		case r >= utf8.RuneSelf:
			if !wild {
				re.WriteString(`[^/]*`)
			}
		case lower != upper:
			re.WriteString("[" + string(lower) + string(upper) + "]")
		default:
			literally(&re, string(r))
		}
		wild = r >= utf8.RuneSelf
	}
	re.WriteString(after + `"`)
	return re.String(), nil
}

// plainNames is a regular expression for what lies in dir under a name of ASCII alone. Some of the other names are
// further spellings of plain ones: a Kelvin sign is a k without letter case, a long s an s, the one letter that
// looks like st both. What the profile compiler makes of bytes from 0x80 on is not known, so none stands in here.
func plainNames(dir string) (string, error) {
	if err := quotable(dir); err != nil {
		return "", err
	}
	var re strings.Builder
	re.WriteString(`#"^`)
	literally(&re, strings.TrimSuffix(dir, "/"))
	re.WriteString(`/[ -.0-~]+(/|$)"`)
	return re.String(), nil
}

// beginning is a regular expression for paths that start with path.
func beginning(path string) (string, error) { return anyEnd(path, "") }

// companions is one for the files that programs write beside the file at path.
func companions(path string) (string, error) { return anyEnd(path, `(\.lock|\.tmp\.[^/]*|\.backup)$`) }

func anyEnd(path, end string) (string, error) {
	if err := quotable(path); err != nil {
		return "", err
	}
	var re strings.Builder
	re.WriteString(`#"^`)
	literally(&re, path)
	re.WriteString(end + `"`)
	return re.String(), nil
}

// literally writes s so that a regular expression takes it letter by letter. A # string holds backslashes
// as they are.
func literally(re *strings.Builder, s string) {
	for _, r := range s {
		if strings.ContainsRune(`.^$|?*+()[]{}`, r) {
			re.WriteByte('\\')
		}
		re.WriteRune(r)
	}
}
