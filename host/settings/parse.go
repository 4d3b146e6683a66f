package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hostshim/host/credential"
	"hostshim/host/wire"
)

// reader reads settings into structs. A field's tags say all about its key: `key` is its name, `want` names a rule of
// wants, `words` lists what it may say, `range` bounds a number. A new key is a new field.
type reader struct {
	file     string
	data     []byte
	warnings []string
}

// wants are the rules for strings. The text says what is wanted and not what was found.
var wants = map[string]struct {
	ok   func(string) bool
	text string
}{
	"template id": {validTemplateID, "want 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', a letter or digit first"},
	"client id":   {validClientID, "want client ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first"},
	"service id":  {validClientID, "want service ids: 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first"},
	"loopback":    {loopbackAddress, "want a loopback address with port, as 127.0.0.1:0"},
	"host": {validHost, "want a host's name, as example.com, *.example.com or example.com:8443, or an address: no scheme or path, " +
		"no *. before a public suffix as com, a port from 1 to 65535, 127.0.0.1 instead of localhost"},
	"upstream": {upstreamURL, "want an https URL, or http to a loopback host, without user, query and fragment"},
	"auth":     {credential.ValidAuth, "want bearer, x-api-key, x-goog-api-key or basic:USER"},
	"service path": {servicePath, "want fetch:/REPOSITORY or push:/REPOSITORY, as git has it behind the host, or a decoded path that starts with /; " +
		"a * at the end stands for any rest"},
	"path": {requestPath, "want a decoded path that starts with /, as /v1/messages, or the beginning of one, as /v1/*"},
}

// document parses the whole file.
func (r *reader) document() (wire.Value, error) {
	v, err := wire.ParseJSON(r.data, true)
	if bad := (*wire.BadJSON)(nil); errors.As(err, &bad) {
		err = r.errorf(bad.At, bad.Path, "%s", bad.Reason)
	}
	return v, err
}

// object reads an object into a struct, each member into the field that has its key. A null is an absent member.
func (r *reader) object(v wire.Value, path string, to reflect.Value, unknown func(m wire.Member, path string) error) error {
	if v.Kind() != "an object" {
		return r.wrongKind(v, path, "an object")
	}
	for _, m := range v.Members() {
		inner := wire.MemberPath(path, m.Name)
		field, known := fieldOf(to.Type(), m.Name)
		var err error
		switch {
		case !known:
			err = unknown(m, inner)
		case m.Kind() != "null":
			err = r.value(m.Value, inner, to.FieldByIndex(field.Index), field.Tag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// strict refuses an unknown key: a mistyped one must not leave a session open.
func (r *reader) strict(t reflect.Type) func(wire.Member, string) error {
	return func(m wire.Member, path string) error {
		nearest, _ := Nearest(m.Name, keys(t))
		return r.errorf(m.At, path, "unknown, the nearest known key is %q", nearest)
	}
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("key") == key && key != "" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keys(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("key"); key != "" {
			all = append(all, key)
		}
	}
	return all
}

// value reads one value into a field.
func (r *reader) value(v wire.Value, path string, to reflect.Value, tag reflect.StructTag) error {
	switch to.Kind() {
	case reflect.Interface: // relay's own
		return nil
	case reflect.String:
		return r.text(v, path, to, tag)
	case reflect.Int:
		return r.number(v, path, to, tag)
	case reflect.Slice:
		return r.texts(v, path, to, tag)
	case reflect.Map:
		return r.entries(v, path, to, tag)
	case reflect.Struct:
		err := r.object(v, path, to, r.strict(to.Type()))
		if whole, ok := to.Addr().Interface().(interface{ check() error }); ok && err == nil {
			if wrong := whole.check(); wrong != nil {
				err = r.errorf(v.At, path, "%v", wrong)
			}
		}
		return err
	case reflect.Bool:
		if v.Kind() != "true or false" {
			return r.wrongKind(v, path, "true or false")
		}
		to.SetBool(string(v.Raw) == "true")
		return nil
	case reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		return r.value(v, path, to.Elem(), tag)
	}
	return fmt.Errorf("settings: no key can be a %s", to.Type())
}

func (r *reader) text(v wire.Value, path string, to reflect.Value, tag reflect.StructTag) error {
	if v.Kind() != "a string" {
		return r.wrongKind(v, path, "a string")
	}
	var text string
	if err := json.Unmarshal(v.Raw, &text); err != nil {
		return r.errorf(v.At, path, "not JSON")
	}
	if words := strings.Fields(tag.Get("words")); len(words) > 0 && !slices.Contains(words, text) {
		return r.errorf(v.At, path, "want one of: %s", strings.Join(words, ", "))
	}
	if want, ok := wants[tag.Get("want")]; ok && !want.ok(text) {
		return r.errorf(v.At, path, "%s", want.text)
	}
	to.SetString(text)
	return nil
}

func (r *reader) number(v wire.Value, path string, to reflect.Value, tag reflect.StructTag) error {
	if v.Kind() != "a number" {
		return r.wrongKind(v, path, "a number")
	}
	var least, most int
	fmt.Sscanf(tag.Get("range"), "%d-%d", &least, &most)
	n, err := strconv.Atoi(string(v.Raw))
	if err != nil || n < least || n > most {
		return r.errorf(v.At, path, "want a whole number from %d to %d", least, most)
	}
	to.SetInt(int64(n))
	return nil
}

// texts reads a list of strings: not nil, even if empty. A null is no element: there is nothing that it could be absent from.
func (r *reader) texts(v wire.Value, path string, to reflect.Value, tag reflect.StructTag) error {
	if v.Kind() != "a list" {
		return r.wrongKind(v, path, "a list")
	}
	elements := v.Elements()
	to.Set(reflect.MakeSlice(to.Type(), len(elements), len(elements)))
	for i, element := range elements {
		if err := r.text(element, fmt.Sprintf("%s[%d]", path, i), to.Index(i), tag); err != nil {
			return err
		}
	}
	return nil
}

// entries reads an object whose keys are the user's own. With `want` they follow that rule.
func (r *reader) entries(v wire.Value, path string, to reflect.Value, tag reflect.StructTag) error {
	if v.Kind() != "an object" {
		return r.wrongKind(v, path, "an object")
	}
	to.Set(reflect.MakeMap(to.Type()))
	for _, m := range v.Members() {
		inner := wire.MemberPath(path, m.Name)
		if want, ok := wants[tag.Get("want")]; ok && !want.ok(m.Name) {
			return r.errorf(m.At, inner, "%s", want.text)
		}
		if m.Kind() == "null" {
			continue
		}
		entry := reflect.New(to.Type().Elem()).Elem()
		if err := r.value(m.Value, inner, entry, ""); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(m.Name), entry)
	}
	return nil
}

func (r *reader) wrongKind(v wire.Value, path, want string) error {
	return r.errorf(v.At, path, "want %s, not %s", want, v.Kind())
}

// errorf words an error at data[at]; lines and columns count from 1, columns in characters.
func (r *reader) errorf(at int, path, format string, args ...any) error {
	before := r.data[:min(at, len(r.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	key := ""
	if path != "" {
		key = "key " + path + ": "
	}
	return fmt.Errorf("%s:%d:%d: %s%s", r.file, line, column, key, fmt.Sprintf(format, args...))
}

// Nearest is the one of known that a person most likely meant by name, and by how many letters it differs. Letter case,
// '_' and '-' count for nothing.
func Nearest(name string, known []string) (nearest string, letters int) {
	if slices.Contains(known, name) {
		return name, 0
	}
	plain := func(s string) []rune {
		return []rune(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s[:min(len(s), 64)])))
	}
	letters = 1 << 30
	for _, k := range known {
		if d := distance(plain(name), plain(k)); d < letters {
			nearest, letters = k, d
		}
	}
	return nearest, letters
}

// Near is what Nearest finds, where that is near enough for a person to have meant it; else "".
func Near(name string, known []string) string {
	nearest, letters := Nearest(name, known)
	switch {
	case len(name) < 2:
		return ""
	case letters <= max(1, min(len(name), len(nearest))/3):
		return nearest
	}
	for _, k := range known {
		if strings.HasPrefix(k, name) {
			return k
		}
	}
	return ""
}

// distance counts the letters to insert, leave out, replace or swap with their neighbour on the way from a to b.
func distance(a, b []rune) int {
	var before, last, row []int
	for i := range len(a) + 1 {
		row = make([]int, len(b)+1)
		for j := range row {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			default:
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return row[len(b)]
}
