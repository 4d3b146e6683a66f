package credential

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

const marker = "sk-ant-oat01-Marker"

// shows says in which coding text shows the marker, or a part of it that is long enough to matter.
func shows(text string) string {
	b := []byte(marker)
	decimal := strings.Trim(fmt.Sprint(b), "[]")
	var parts []string
	for _, c := range b[:6] {
		parts = append(parts, fmt.Sprintf("0x%x", c))
	}
	for name, coded := range map[string]string{
		"plain":        marker[:8],
		"hex":          hex.EncodeToString(b[:6]),
		"spaced hex":   fmt.Sprintf("% x", b[:6]),
		"base64":       base64.StdEncoding.EncodeToString(b[:6]),
		"decimal":      decimal[:18],
		"go syntax":    strings.Join(parts, ", "),
		"octal":        strings.Trim(fmt.Sprintf("%o", b[:6]), "[]"),
		"binary":       strings.Trim(fmt.Sprintf("%b", b[:3]), "[]"),
		"characters":   strings.Trim(fmt.Sprintf("%c", b[:6]), "[]"),
		"quoted runes": strings.Trim(fmt.Sprintf("%q", []rune(marker[:6])), "[]"),
	} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(coded)) {
			return name
		}
	}
	return ""
}

type exported struct {
	Name   string
	Secret Secret
}

type hidden struct {
	name   string
	secret Secret
}

type embedded struct{ Secret }

type hiddenDeep struct {
	p    *hidden
	list []hidden
	m    map[string]Secret
	any  any
	arr  [1]Secret
}

// holders are shapes in which a secret may reach a printer.
func holders() map[string]any {
	s := NewSecret([]byte(marker))
	h := hidden{"n", s}
	deep := hiddenDeep{&h, []hidden{h}, map[string]Secret{"k": s}, s, [1]Secret{s}}
	return map[string]any{
		"value":           s,
		"pointer":         &s,
		"exported":        exported{"n", s},
		"exported ptr":    &exported{"n", s},
		"hidden":          h,
		"hidden ptr":      &h,
		"embedded":        embedded{s},
		"embedded ptr":    &embedded{s},
		"slice":           []Secret{s},
		"slice of any":    []any{s, &s, h},
		"slice of ptr":    []*Secret{&s},
		"array":           [2]Secret{s, s},
		"map value":       map[string]Secret{"k": s},
		"map key":         map[*Secret]int{&s: 1},
		"map of hidden":   map[string]hidden{"k": h},
		"hidden deep":     deep,
		"hidden deep ptr": &deep,
		"pair of hidden":  struct{ a, b *hidden }{&h, &h},
		"reflected":       reflect.ValueOf(h),
	}
}

func TestT08NoVerbPrintsASecret(t *testing.T) {
	var verbs []string
	for c := '!'; c <= '~'; c++ {
		for _, flags := range []string{"", "+", "#", " ", "-", "0", "20", ".3", "+#", "# ", "#+20.5"} {
			verbs = append(verbs, "%"+flags+string(c))
		}
	}
	verbs = append(verbs, "%世", "%[1]v %[1]d", "%[2]*[1]x", "no verb", "%", "%v %v")
	for name, holder := range holders() {
		for _, verb := range verbs {
			text := fmt.Sprintf(verb, holder)
			if how := shows(text); how != "" {
				t.Errorf("%s under %s shows the secret (%s)", name, verb, how)
			}
		}
		for _, text := range []string{fmt.Sprint(holder), fmt.Sprintln("a", holder), string(fmt.Append(nil, holder))} {
			if how := shows(text); how != "" {
				t.Errorf("%s printed shows the secret (%s)", name, how)
			}
		}
	}
	s := NewSecret([]byte(marker))
	if got := fmt.Sprintf("%v %+v %#v %q %x %s %d", s, s, s, s, s, s, s); got != strings.Repeat("[secret] ", 6)+"[secret]" {
		t.Errorf("verbs print %s", got)
	}
	if got := fmt.Sprintf("%T", Secret{}); got != "credential.Secret" {
		t.Errorf("%%T prints %s", got)
	}
}

func TestT08NoErrorOrPanicCarriesASecret(t *testing.T) {
	for name, holder := range holders() {
		inner := fmt.Errorf("inner %v: %w", holder, errors.New("cause"))
		notAnError := "not an error: %w" // a constant format would be vet's to refuse
		for _, err := range []error{inner, fmt.Errorf("outer: %w", inner), fmt.Errorf(notAnError, holder), errors.Join(inner, inner)} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				if how := shows(fmt.Sprintf(verb, err)); how != "" {
					t.Errorf("error about %s under %s shows the secret (%s)", name, verb, how)
				}
			}
		}
		// What the runtime prints of a panic's value is its Error or String, or an address.
		if s, ok := holder.(fmt.Stringer); ok && shows(s.String()) != "" {
			t.Errorf("panic with %s shows the secret", name)
		}
	}
}

func TestT08NoEncoderWritesASecret(t *testing.T) {
	for name, holder := range holders() {
		if text, err := json.Marshal(holder); err == nil && shows(string(text)) != "" {
			t.Errorf("JSON of %s: %s", name, text)
		}
		if text, err := xml.Marshal(holder); err == nil && shows(string(text)) != "" {
			t.Errorf("XML of %s: %s", name, text)
		}
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelError} {
			var text, js bytes.Buffer
			options := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
			slog.New(slog.NewTextHandler(&text, options)).With("with", holder).Log(t.Context(), level, "m", "k", holder, slog.Group("g", "k", holder))
			slog.New(slog.NewJSONHandler(&js, options)).With("with", holder).Log(t.Context(), level, "m", "k", holder, slog.Group("g", "k", holder))
			for _, out := range []string{text.String(), js.String()} {
				if how := shows(out); how != "" || out == "" {
					t.Errorf("slog of %s (%s): %s", name, how, out)
				}
			}
		}
	}
	text, err := json.Marshal(struct {
		S Secret
		M map[string]Secret
		P *Secret
	}{NewSecret([]byte(marker)), map[string]Secret{"k": {}}, nil})
	if want := `{"S":"[secret]","M":{"k":"[secret]"},"P":null}`; err != nil || string(text) != want {
		t.Errorf("JSON is %s, %v, want %s", text, err, want)
	}
}

func TestSecretComesBackOnlyThroughReveal(t *testing.T) {
	s := NewSecret([]byte(marker))
	if string(s.Reveal()) != marker || s.Empty() {
		t.Fatalf("reveals %q", s.Reveal())
	}
	other := s
	kept := s.Reveal()
	other.Wipe()
	if !s.Empty() || s.Reveal() != nil || !bytes.Equal(kept, make([]byte, len(marker))) {
		t.Errorf("after a wipe of a copy: empty %v, left %q", s.Empty(), kept)
	}
	s.Wipe()
	var zero Secret
	zero.Wipe()
	if !zero.Empty() || zero.Reveal() != nil || string(zero.Redact([]byte("x"), true)) != "x" {
		t.Error("the zero value is not an empty secret")
	}
}

func TestWipeReachesTheWholeBuffer(t *testing.T) {
	buf := []byte(marker + "tail")
	NewSecret(buf[:3]).Wipe()
	if !bytes.Equal(buf, make([]byte, len(buf))) {
		t.Errorf("left %q", buf)
	}
}

func TestRedact(t *testing.T) {
	const short, long = "tok", "token-of-16-char"
	for _, c := range []struct{ secret, in, want string }{
		{short, "", ""},
		{short, "nothing", "nothing"},
		{short, "tok", "[secret]"},
		{short, "a tok, tok.", "a [secret], [secret]."},
		{short, "toktok", "[secret][secret]"},
		{short, "to k", "to k"},
		{"two words here", "two words here, twowordshere", "[secret], twowordshere"},
		{long, "a " + long + long + ".", "a [secret][secret]."},
		{long, "a t o\tk en\x00-of-\xff16-c\u00e9har b", "a [secret] b"},
		{long, "token-of-16-cha", "token-of-16-cha"},
		{long, "token-of-16-char token-of", "[secret] token-of"},
		{long + "|", "x token - of |", "x [secret]|"}, // broken after "token - of "
	} {
		in, broken := strings.CutSuffix(c.in, "|")
		secret, _ := strings.CutSuffix(c.secret, "|")
		want, _ := strings.CutSuffix(c.want, "|")
		if got := strings.TrimRight(string(NewSecret([]byte(secret)).Redact([]byte(in), broken)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
	}
}

func TestUnmarshalTextCopies(t *testing.T) {
	var v struct{ Token, Absent, Null Secret }
	in := []byte(`{"token":"` + marker + `","null":null}`)
	if err := json.Unmarshal(in, &v); err != nil {
		t.Fatal(err)
	}
	clear(in)
	if string(v.Token.Reveal()) != marker || !v.Absent.Empty() || !v.Null.Empty() {
		t.Errorf("got %q", v.Token.Reveal())
	}
	err := json.Unmarshal([]byte(`{"token":["`+marker+`"]}`), &v)
	if err == nil || shows(err.Error()) != "" {
		t.Errorf("a wrong type: %v", err)
	}
}
