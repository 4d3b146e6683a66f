package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// token reads the next token.
func (r *jsonReader) token(path string) (json.Token, error) {
	token, err := r.dec.Token()
	if err == nil {
		return token, nil
	}
	if err := r.syntax(path); err != nil {
		return nil, err
	}
	return nil, r.errorf(r.next(), path, "not JSON")
}

// syntax refuses what is not JSON, and knows where it stops being so, which the decoder of tokens does not.
// Its own words are left out: they quote a character of the file.
func (r *jsonReader) syntax(path string) error {
	var raw json.RawMessage
	var bad *json.SyntaxError
	if errors.As(json.Unmarshal(r.data, &raw), &bad) {
		return r.errorf(max(int(bad.Offset)-1, 0), path, "not JSON")
	}
	return nil
}

// next is where the next token starts. A comma or colon on the way belongs to none.
func (r *jsonReader) next() int {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return at
}

// kindAt names the kind of the value that starts at data[at], "" where none does.
func kindAt(data []byte, at int) string {
	if at >= len(data) {
		return ""
	}
	switch c := data[at]; {
	case c == '{':
		return "an object"
	case c == '[':
		return "a list"
	case c == '"':
		return "a string"
	case c == 't', c == 'f':
		return "true or false"
	case c == 'n':
		return "null"
	case c == '-', c >= '0' && c <= '9':
		return "a number"
	}
	return ""
}

// memberPath is the path of an object's member: a.b[2].c. A name that would not read as one is quoted.
func memberPath(path, name string) string {
	for _, c := range name {
		if !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			name = strconv.Quote(name)
			break
		}
	}
	if name == "" {
		name = `""`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// errorf words an error at data[at]; lines and columns count from 1, columns in characters.
func (r *jsonReader) errorf(at int, path, format string, args ...any) error {
	before := r.data[:min(at, len(r.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	key := ""
	if path != "" {
		key = "key " + path + ": "
	}
	return fmt.Errorf("%s:%d:%d: %s%s", r.file, line, column, key, fmt.Sprintf(format, args...))
}

// invalidUTF8 is where data stops being UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		c, size := utf8.DecodeRune(data[at:])
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}
