package shim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// The reader takes what package json takes, and reads the same from it.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : [ 1 , -0.5e+7 , true , false , null , "b" , { } ] , "a" : { "c" : [ ] } } `, `{"a":1}x`, "{\"a\":1}\x00", `{"a" 1}`,
		`{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":nul}`, `{"a":`, `{"a"`, `{`,
		`["/a","/b"]`, `[]`, `[1]`, `["a"`, `["a",`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud800"`, `"\ud800\u0041"`, `"\u12"`, `"\u12g4"`,
		`"\u+123"`, `"\x41"`, `"\`, `"`, "\"\n\"", "\"\xff\"", `1`, `-1`, `+1`, `01`, `1.`, `.5`, `1e`, `1E-2`, `-`, `1.0`, `99999999999999999999`, `null`, ``, ` `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := string(data)
		var want map[string]json.RawMessage
		got, ok := members(text)
		if is := json.Unmarshal(data, &want) == nil && want != nil; ok != is {
			t.Fatalf("members(%q): %v", text, ok)
		}
		for name, value := range want {
			if utf8.Valid(data) && !strings.ContainsRune(name, utf8.RuneError) && !bytes.Equal(value, []byte(got[name])) {
				t.Errorf("members(%q)[%q] is %q, want %q", text, name, got[name], value)
			}
		}
		sameValue[string](t, text)
		sameValue[int](t, text)
		if !strings.Contains(text, "null") { // as an element, package json takes it for an empty string
			sameValue[[]string](t, text)
		}
	})
}

func sameValue[T any](t *testing.T, text string) {
	var got, want T
	r := &jsonReader{rest: text}
	r.value(&got)
	if ok := json.Unmarshal([]byte(text), &want) == nil; ok != r.ended() {
		t.Errorf("value(%q) of type %T: %v", text, got, r.err)
	} else if utf8.ValidString(text) && !strings.Contains(text, `\u`) && ok && !reflect.DeepEqual(got, want) {
		t.Errorf("value(%q) is %#v, want %#v", text, got, want)
	}
}

func TestJSONText(t *testing.T) {
	for text, want := range map[string]string{
		`"a\u0041\u00e9"`: "aAé", `"\ud83d\ude00"`: "😀", `"\ud800x"`: "\ufffdx", `"\udc00"`: "\ufffd", `"\uD83D\uDE00\/"`: "😀/", `""`: "",
	} {
		r := &jsonReader{rest: text}
		if got := r.text(); got != want || !r.ended() {
			t.Errorf("%s: %q, %v", text, got, r.err)
		}
	}
}
