package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep a strict document may nest. Settings need five.
const maxDepth = 100

// Value is a JSON value as it stands in its document: a slice of it, so wiping the document wipes the value. Package json
// alone takes a name in any letter case, quotes values in its errors, and does not say where a value stands.
type Value struct {
	Raw []byte
	At  int // offset of the first byte in the document
}

// Member is one of an object's.
type Member struct {
	Name string
	At   int // offset of the name
	Value
}

// BadJSON says where a document cannot be read, and why. It quotes nothing of the document but a member's path.
type BadJSON struct {
	At     int
	Path   string // of a member; "": the document itself
	Reason string
}

func (e *BadJSON) Error() string { return e.Reason }

// ParseJSON checks the syntax of the whole document, so that reading it afterwards cannot fail on that. A strict document
// is one that a person wrote. It also refuses what JSON allows and nobody means: a name that stands twice in one object,
// bytes that are not UTF-8, a byte order mark, and very deep nesting.
func ParseJSON(data []byte, strict bool) (Value, error) {
	if strict && bytes.HasPrefix(data, []byte("\ufeff")) {
		return Value{}, &BadJSON{Reason: "starts with a byte order mark"}
	}
	if at := invalidUTF8(data); strict && at >= 0 {
		return Value{}, &BadJSON{At: at, Reason: "not UTF-8"}
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		at := len(data)
		if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
			at = max(int(bad.Offset)-1, 0)
		}
		if first := json.NewDecoder(bytes.NewReader(data)); first.Decode(&raw) == nil {
			rest := bytes.TrimLeft(data[first.InputOffset():], " \t\r\n")
			return Value{}, &BadJSON{At: len(data) - len(rest), Reason: "more after the end"}
		}
		return Value{}, &BadJSON{At: at, Reason: "not JSON"}
	}
	v := valueAt(data, next(data, 0), 0)
	if strict {
		return v, v.check("", 0)
	}
	return v, nil
}

// check looks for names that stand twice, at any depth.
func (v Value) check(path string, depth int) error {
	if depth++; depth > maxDepth && (v.Raw[0] == '{' || v.Raw[0] == '[') {
		return &BadJSON{v.At, path, fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	seen := map[string]bool{}
	for _, m := range v.Members() {
		inner := MemberPath(path, m.Name)
		if seen[m.Name] {
			return &BadJSON{m.At, inner, "given twice"}
		}
		seen[m.Name] = true
		if err := m.check(inner, depth); err != nil {
			return err
		}
	}
	for i, element := range v.Elements() {
		if err := element.check(fmt.Sprintf("%s[%d]", path, i), depth); err != nil {
			return err
		}
	}
	return nil
}

// Kind names the kind of a value, with its article.
func (v Value) Kind() string {
	switch v.Raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// Members are those of an object, in order; none of any other value.
func (v Value) Members() (all []Member) {
	if v.Raw[0] != '{' {
		return nil
	}
	for i := next(v.Raw, 1); v.Raw[i] != '}'; i = next(v.Raw, i) {
		name := valueAt(v.Raw, i, v.At)
		m := Member{At: name.At, Value: valueAt(v.Raw, next(v.Raw, i+len(name.Raw)), v.At)}
		json.Unmarshal(name.Raw, &m.Name)
		all = append(all, m)
		i = m.Value.At - v.At + len(m.Raw)
	}
	return all
}

// Elements are those of a list, in order; none of any other value.
func (v Value) Elements() (all []Value) {
	if v.Raw[0] != '[' {
		return nil
	}
	for i := next(v.Raw, 1); v.Raw[i] != ']'; i = next(v.Raw, i) {
		all = append(all, valueAt(v.Raw, i, v.At))
		i += len(all[len(all)-1].Raw)
	}
	return all
}

// next is where the next value or closing bracket starts. The syntax is known to be good, so a comma or a colon on the
// way needs no look.
func next(raw []byte, i int) int {
	for i < len(raw) && strings.IndexByte(" \t\r\n,:", raw[i]) >= 0 {
		i++
	}
	return i
}

// valueAt is the value that starts at raw[i]; raw itself starts at base of the document.
func valueAt(raw []byte, i, base int) Value {
	end, depth := i, 0
	for {
		switch c := raw[end]; {
		case c == '"':
			for end++; raw[end] != '"'; end++ {
				if raw[end] == '\\' {
					end++
				}
			}
			end++
		case c == '{' || c == '[':
			depth++
			end++
		case c == '}' || c == ']':
			depth--
			end++
		default:
			end++
			for depth == 0 && end < len(raw) && strings.IndexByte(" \t\r\n,:]}", raw[end]) < 0 {
				end++
			}
		}
		if depth == 0 {
			return Value{raw[i:end:end], base + i}
		}
	}
}

// MemberPath is the path of an object's member, as a.b[2].c. A name that would not read as one is quoted.
func MemberPath(path, name string) string {
	plain := func(c rune) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
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
