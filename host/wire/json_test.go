package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestParseJSON(t *testing.T) {
	v, err := ParseJSON([]byte(" {\"a\" : [1,\t\"]\\\"\", {\"b\":null}] , \"\\u0061b\":{}}\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	members := v.Members()
	if len(members) != 2 || v.At != 1 || members[0].Name != "a" || members[0].At != 2 || members[1].Name != "ab" || members[1].Kind() != "an object" {
		t.Fatalf("%+v", members)
	}
	var got []string
	for _, e := range members[0].Elements() {
		got = append(got, string(e.Raw), e.Kind())
	}
	if want := []string{"1", "a number", `"]\""`, "a string", `{"b":null}`, "an object"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]BadJSON{
		`{"a":1,"a":2}`:         {7, "a", "given twice"},
		`[{"b":{"a":1,"a":2}}]`: {13, "[0].b.a", "given twice"},
		"\ufeff{}":              {0, "", "starts with a byte order mark"},
		"{\"\xff\":1}":          {2, "", "not UTF-8"},
		`{} {}`:                 {3, "", "more after the end"},
		`{"a":}`:                {5, "", "not JSON"},
		``:                      {0, "", "not JSON"},
	} {
		_, err := ParseJSON([]byte(text), true)
		if bad := (*BadJSON)(nil); !errors.As(err, &bad) || *bad != want {
			t.Errorf("%q: %+v, want %+v", text, err, want)
		}
	}
	// A request is read as package json reads it.
	if v, err := ParseJSON([]byte(`{"a":1,"a":2}`), false); err != nil || len(v.Members()) != 2 {
		t.Errorf("%v", err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\\\""}],"c":-1e5}`, `[]`, `"x"`, ` null `, `{"a":{},"b":[[]]}`, `[1 2]`, `{"\ud800":tru}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseJSON(data, false)
		if valid := json.Valid(data); (err == nil) != valid {
			t.Fatalf("%q: %v, valid %v", data, err, valid)
		}
		if err != nil {
			return
		}
		sameAsJSON(t, data, v)
	})
}

// sameAsJSON holds each value to what package json reads, and to where it says that it stands.
func sameAsJSON(t *testing.T, data []byte, v Value) {
	if !bytes.HasPrefix(data[v.At:], v.Raw) {
		t.Fatalf("%q: %q is not at %d", data, v.Raw, v.At)
	}
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(v.Raw, &object) == nil && object != nil:
		last := map[string]Value{}
		for _, m := range v.Members() {
			last[m.Name] = m.Value
			sameAsJSON(t, data, m.Value)
		}
		if len(last) != len(object) {
			t.Fatalf("%q: %d members, want %d", v.Raw, len(last), len(object))
		}
		for name, raw := range object {
			if !bytes.Equal(last[name].Raw, raw) {
				t.Fatalf("%q: %q is %q, want %q", v.Raw, name, last[name].Raw, raw)
			}
		}
	case json.Unmarshal(v.Raw, &list) == nil && list != nil:
		elements := v.Elements()
		if len(elements) != len(list) {
			t.Fatalf("%q: %d elements, want %d", v.Raw, len(elements), len(list))
		}
		for i, e := range elements {
			if !bytes.Equal(e.Raw, list[i]) {
				t.Fatalf("%q: element %d is %q", v.Raw, i, e.Raw)
			}
			sameAsJSON(t, data, e)
		}
	}
}
