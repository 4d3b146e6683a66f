package shim

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// jsonReader reads one JSON text value by value, up to its first error. Package json works by reflection and with buffers
// that grow, which would stay in the shim's memory for as long as a session lives.
type jsonReader struct {
	rest  string // empty after an error
	first bool   // a bracket was opened and nothing read since
	err   error
}

// fail keeps the first error: something else comes than what.
func (r *jsonReader) fail(what string) {
	switch {
	case r.err != nil:
	case r.rest == "":
		r.err = io.ErrUnexpectedEOF
	case !strings.Contains(`{["-0123456789tfn`, r.rest[:1]): // no value begins like this
		r.err = errors.New("invalid character " + strconv.Quote(r.rest[:1]))
	default:
		r.err = errors.New("not " + what)
	}
	r.rest = ""
}

// take reads word, and white space before it, if it comes next.
func (r *jsonReader) take(word string) (ok bool) {
	r.rest, ok = strings.CutPrefix(strings.TrimLeft(r.rest, " \t\r\n"), word)
	return ok
}

// ended says whether all was read, without an error.
func (r *jsonReader) ended() bool {
	r.take("")
	return r.err == nil && r.rest == ""
}

// open reads the bracket before an object or a list.
func (r *jsonReader) open(bracket, what string) {
	if r.first = r.take(bracket); !r.first {
		r.fail(what)
	}
}

// more says whether another element follows, or reads the closing bracket.
func (r *jsonReader) more(bracket string) bool {
	first := r.first
	r.first = false
	if r.err != nil || r.take(bracket) {
		return false
	}
	if !first && !r.take(",") {
		r.fail("JSON")
	}
	return r.err == nil
}

// name reads the name of a member.
func (r *jsonReader) name() string {
	name := r.text()
	if r.err == nil && !r.take(":") {
		r.fail("JSON")
	}
	return name
}

// value reads a value of to's type. null leaves it as it is.
func (r *jsonReader) value(to any) {
	if r.take("null") {
		return
	}
	switch to := to.(type) {
	case *int:
		n, err := strconv.Atoi(r.number())
		if *to = n; err != nil {
			r.fail("a whole number")
		}
	case *string:
		*to = r.text()
	case *[]string:
		*to = []string{} // an empty list is one, and null is none
		for r.open("[", "a list"); r.more("]"); {
			*to = append(*to, r.text())
		}
	}
}

// skip reads a value of any kind, and returns it as it is written.
func (r *jsonReader) skip() string {
	r.take("")
	before := r.rest
	switch {
	case strings.HasPrefix(before, "{"):
		for r.open("{", ""); r.more("}"); r.skip() {
			r.name()
		}
	case strings.HasPrefix(before, "["):
		for r.open("[", ""); r.more("]"); {
			r.skip()
		}
	case strings.HasPrefix(before, `"`):
		r.text()
	case !r.take("null") && !r.take("true") && !r.take("false"):
		r.number()
	}
	return before[:len(before)-len(r.rest)]
}

// text reads a string. Bytes that are not UTF-8 stay as they are.
func (r *jsonReader) text() string {
	if !r.take(`"`) {
		r.fail("a string")
	}
	var text strings.Builder
	for r.err == nil {
		end := strings.IndexFunc(r.rest, func(c rune) bool { return c == '"' || c == '\\' || c < ' ' })
		if end < 0 {
			r.rest = ""
			r.fail("a string")
			break
		}
		plain, by := r.rest[:end], r.rest[end]
		r.rest = r.rest[end:]
		if by < ' ' {
			r.fail("a string")
			break
		}
		r.rest = r.rest[1:]
		if by == '"' && text.Len() == 0 {
			return plain
		}
		text.WriteString(plain)
		if by == '"' {
			return text.String()
		}
		text.WriteRune(r.escaped())
	}
	return ""
}

// escaped reads what follows a backslash. Half a pair of surrogates becomes U+FFFD.
func (r *jsonReader) escaped() rune {
	const letters, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if r.rest != "" {
		if i := strings.IndexByte(letters, r.rest[0]); i >= 0 {
			r.rest = r.rest[1:]
			return rune(meant[i])
		}
	}
	c := r.unit("u")
	if utf16.IsSurrogate(c) && strings.HasPrefix(r.rest, `\u`) {
		c = utf16.DecodeRune(c, r.unit(`\u`))
	}
	return c
}

// unit reads four hexadecimal digits after prefix.
func (r *jsonReader) unit(prefix string) rune {
	digits, ok := strings.CutPrefix(r.rest, prefix)
	digits = digits[:min(4, len(digits))]
	n, err := strconv.ParseUint(digits, 16, 16)
	if !ok || err != nil || len(digits) < 4 {
		r.fail("a string")
		return 0
	}
	r.rest = r.rest[len(prefix)+4:]
	return rune(n)
}

// number reads a number, and returns it as it is written.
func (r *jsonReader) number() string {
	r.take("")
	before := r.rest
	one := func(of string) bool {
		is := r.rest != "" && strings.IndexByte(of, r.rest[0]) >= 0
		if is {
			r.rest = r.rest[1:]
		}
		return is
	}
	digits := func() bool {
		n := len(r.rest)
		r.rest = strings.TrimLeft(r.rest, "0123456789")
		return len(r.rest) < n
	}
	one("-")
	good := one("0") || digits()
	if one(".") {
		good = digits() && good
	}
	if one("eE") {
		one("+-")
		good = digits() && good
	}
	if !good {
		r.fail("a number")
	}
	return before[:len(before)-len(r.rest)]
}
