package credential

import (
	"bytes"
	"errors"
	"fmt"

	"hostshim/shim"
)

// asciiSpace is what is trimmed from both ends of a token file (T03).
const asciiSpace = " \t\n\v\f\r"

var (
	errEmpty     = errors.New("empty")
	errCharacter = errors.New("holds a character that no token has")
)

// errTooLarge says that something is over its limit.
func errTooLarge(limit int) error { return fmt.Errorf("larger than %d bytes", limit) }

// Check says why b cannot be a token: empty, over shim.MaxToken bytes, or with a byte outside 0x21–0x7E,
// which covers a byte order mark and white space (T04). The error is the bare reason.
func Check(b []byte) error {
	if len(b) == 0 {
		return errEmpty
	}
	if len(b) > shim.MaxToken {
		return errTooLarge(shim.MaxToken)
	}
	for _, c := range b {
		if c < 0x21 || c > 0x7E {
			return errCharacter
		}
	}
	return nil
}

// trim returns the token inside a file's content. The limit counts the file, white space included.
func trim(content []byte) ([]byte, error) {
	if len(content) > shim.MaxToken {
		return nil, errTooLarge(shim.MaxToken)
	}
	token := bytes.Trim(content, asciiSpace)
	if what := mistakenFor(token); what != "" {
		return nil, fmt.Errorf("looks like %s: it must hold the token alone", what)
	}
	return token, Check(token)
}

// Parse is the token in what a person gave for one: white space around it goes, and what holds no token as such is refused
// as in a file. The error is the bare reason.
func Parse(text []byte) (Secret, error) {
	token, err := trim(text)
	if err != nil {
		return Secret{}, err
	}
	return NewSecret(token), nil
}

// mistakenFor says what a token file holds that holds no token as such. No provider would take it, and a person would be
// told that the token is wrong. Of the content nothing is said.
func mistakenFor(b []byte) string {
	name, value, assigns := bytes.Cut(bytes.TrimPrefix(b, []byte("export ")), []byte("="))
	switch {
	case len(b) == 0:
	case b[0] == '"' || b[0] == '\'' || b[0] == '`':
		return "a text in quotes"
	case b[0] == '{' || b[0] == '[':
		return "JSON"
	case assigns && isName(name) && len(value) > 0 && value[0] != '=': // padding of base64 ends with '='
		return "an assignment NAME=VALUE"
	}
	return ""
}

// isName says whether a shell would take name as a variable's.
func isName(name []byte) bool {
	return len(name) > 0 && !bytes.ContainsFunc(name, func(c rune) bool {
		return !(c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
	})
}
