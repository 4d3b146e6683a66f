package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how deep lists and objects may nest; settings need five.
const maxDepth = 100

// jsonReader reads a settings file token by token. Package json alone will not do: it matches names in any
// letter case, takes the last of two members with one name, and does not say where in the file a value is.
type jsonReader struct {
	file     string
	data     []byte
	dec      *json.Decoder
	depth    int
	warnings []string
}

// A reading reads the next value, which stands at path, "" for the whole document. It is never asked to read
// a null: that is an absent member.
type reading func(path string) error

// fields are the members that an object may have.
type fields map[string]reading

func newJSONReader(file string, data []byte) *jsonReader {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // a number out of range in an unknown member is nobody's error
	return &jsonReader{file: file, data: data, dec: dec}
}

// document reads the one value that the file holds.
func (r *jsonReader) document(read reading) error {
	if bytes.HasPrefix(r.data, []byte("\ufeff")) {
		return r.errorf(0, "", "starts with a byte order mark")
	}
	if at := invalidUTF8(r.data); at >= 0 {
		return r.errorf(at, "", "not UTF-8")
	}
	if err := r.value("", read); err != nil {
		return err
	}
	if r.next() < len(r.data) {
		return r.errorf(r.next(), "", "more after the end of the settings")
	}
	return r.syntax("")
}

// value reads the next value with read, or skips a null.
func (r *jsonReader) value(path string, read reading) error {
	if kindAt(r.data, r.next()) != "null" {
		return read(path)
	}
	_, err := r.token(path)
	return err
}

// object reads an object with the given members. One that it does not know is skipped, with a warning where
// only the letter case differs.
func (r *jsonReader) object(known fields) reading {
	return r.members(func(at int, name, path string) error {
		if read, ok := known[name]; ok {
			return read(path)
		}
		return r.skip(path)
	}, slices.Sorted(maps.Keys(known))...)
}

// members reads an object member by member; at is where the name stands.
func (r *jsonReader) members(read func(at int, name, path string) error, known ...string) reading {
	return func(path string) error {
		seen := make(map[string]bool)
		return r.inside(path, "an object", func() error {
			at := r.next()
			token, err := r.token(path)
			if err != nil {
				return err
			}
			name, _ := token.(string)
			member := memberPath(path, name)
			if seen[name] {
				return r.errorf(at, member, "given twice")
			}
			seen[name] = true
			r.warnCase(at, name, member, known)
			return r.value(member, func(path string) error { return read(at, name, path) })
		})
	}
}

func (r *jsonReader) warnCase(at int, name, member string, known []string) {
	for _, k := range known {
		if k != name && strings.EqualFold(k, name) {
			r.warnings = append(r.warnings, r.errorf(at, member, "ignored: it is spelled %q", k).Error())
		}
	}
}

// list reads a list, each element with read. A null is no element: there is nothing that it could be absent from.
func (r *jsonReader) list(read reading) reading {
	return func(path string) error {
		n := 0
		return r.inside(path, "a list", func() error {
			n++
			return read(fmt.Sprintf("%s[%d]", path, n-1))
		})
	}
}

// inside reads a list or an object around its parts.
func (r *jsonReader) inside(path, kind string, part func() error) error {
	at := r.next()
	if err := r.want(path, kind); err != nil {
		return err
	}
	if r.depth++; r.depth > maxDepth {
		return r.errorf(at, path, "nested more than %d deep", maxDepth)
	}
	if _, err := r.token(path); err != nil {
		return err
	}
	for r.dec.More() {
		if err := part(); err != nil {
			return err
		}
	}
	r.depth--
	_, err := r.token(path)
	return err
}

// skip reads any value and lets it go; two members of one name are an error in there too.
func (r *jsonReader) skip(path string) error {
	switch kindAt(r.data, r.next()) {
	case "an object":
		return r.members(func(_ int, _, path string) error { return r.skip(path) })(path)
	case "a list":
		return r.list(r.skip)(path)
	}
	_, err := r.token(path)
	return err
}

func (r *jsonReader) text(to *string) reading {
	return r.checked(to, func(string) bool { return true }, "")
}

// checked reads a string that ok accepts. The message says what is wanted and not what was found.
func (r *jsonReader) checked(to *string, ok func(string) bool, message string) reading {
	return func(path string) error {
		at := r.next()
		if err := r.want(path, "a string"); err != nil {
			return err
		}
		token, err := r.token(path)
		if err != nil {
			return err
		}
		if *to, _ = token.(string); !ok(*to) {
			return r.errorf(at, path, "%s", message)
		}
		return nil
	}
}

// word reads one of the given words.
func (r *jsonReader) word(to *string, words ...string) reading {
	return r.checked(to, func(s string) bool { return slices.Contains(words, s) }, "want one of: "+strings.Join(words, ", "))
}

// texts reads a list of strings: not nil, even if empty.
func (r *jsonReader) texts(to *[]string) reading {
	return r.checkedTexts(to, func(string) bool { return true }, "")
}

func (r *jsonReader) checkedTexts(to *[]string, ok func(string) bool, message string) reading {
	return func(path string) error {
		*to = []string{}
		return r.list(func(path string) error {
			*to = append(*to, "")
			return r.checked(&(*to)[len(*to)-1], ok, message)(path)
		})(path)
	}
}

func (r *jsonReader) textMap(to *map[string]string) reading {
	return func(path string) error {
		*to = make(map[string]string)
		return r.members(func(_ int, name, path string) error {
			var value string
			err := r.text(&value)(path)
			(*to)[name] = value
			return err
		})(path)
	}
}

func (r *jsonReader) flag(to **bool) reading {
	return func(path string) error {
		if err := r.want(path, "true or false"); err != nil {
			return err
		}
		token, err := r.token(path)
		if b, ok := token.(bool); ok {
			*to = &b
		}
		return err
	}
}

func (r *jsonReader) number(to *int, least, most int) reading {
	return func(path string) error {
		at := r.next()
		if err := r.want(path, "a number"); err != nil {
			return err
		}
		token, err := r.token(path)
		if err != nil {
			return err
		}
		text, _ := token.(json.Number)
		n, err := strconv.Atoi(text.String())
		if err != nil || n < least || n > most {
			return r.errorf(at, path, "want a whole number from %d to %d", least, most)
		}
		*to = n
		return nil
	}
}

// want refuses a next value of another kind. What is no value at all is left to token, which fails on it.
func (r *jsonReader) want(path, kind string) error {
	if got := kindAt(r.data, r.next()); got != "" && got != kind {
		return r.errorf(r.next(), path, "want %s, not %s", kind, got)
	}
	return nil
}
