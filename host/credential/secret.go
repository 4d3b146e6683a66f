package credential

import (
	"bytes"
	"fmt"
	"io"
)

// placeholder is all that a Secret ever shows.
const placeholder = "[secret]"

// Secret holds a token, a pairing, a bearer or a key, and cannot print itself (T08). Copies share one
// content. The zero value is an empty secret.
//
// The content is behind a function, because package fmt does not always call Format: not for an unexported field, not
// under %p, and not under a verb that it thinks does not fit. It then prints what reflection finds, and in the last case
// follows pointers. Reflection never follows a function. A function also rules out ==, which takes no constant time.
type Secret struct{ content func() *[]byte }

// NewSecret takes ownership of b: the caller must not use it again.
func NewSecret(b []byte) Secret { return Secret{func() *[]byte { return &b }} }

// Reveal is the only way to the content. It is not a copy: do not change it, keep it, or turn it into text
// that lives longer than the call it is for.
func (s Secret) Reveal() []byte {
	if s.content == nil {
		return nil
	}
	return *s.content()
}

// Empty says whether there is nothing in it, or nothing any more.
func (s Secret) Empty() bool { return len(s.Reveal()) == 0 }

// Wipe overwrites the content, in every copy, and leaves them empty.
func (s Secret) Wipe() {
	if s.content == nil {
		return
	}
	b := s.content()
	clear((*b)[:cap(*b)])
	*b = nil
}

// minSpread is the shortest secret that is looked for with other characters inside. A shorter one would be found in
// harmless text.
const minSpread = 8

// Redact returns line with every occurrence of the content replaced, also where blanks, control characters or anything
// else that no token has stand between its characters. Where line is only the beginning of a longer one, broken says
// so: the end of line may then be the beginning of the content.
func (s Secret) Redact(line []byte, broken bool) []byte {
	secret := s.Reveal()
	if len(secret) < minSpread || bytes.ContainsFunc(secret, func(r rune) bool { return !graphic(r) }) {
		if len(secret) == 0 {
			return line
		}
		return bytes.ReplaceAll(line, secret, []byte(placeholder))
	}
	bare, at := make([]byte, 0, len(line)), make([]int, 0, len(line))
	for i, c := range line {
		if graphic(rune(c)) {
			bare, at = append(bare, c), append(at, i)
		}
	}
	var out []byte
	done, from := 0, 0 // what of line is in out, and of bare
	for {
		i, n := bytes.Index(bare[from:], secret), len(secret)
		if i < 0 && broken {
			i, n = beginning(bare[from:], secret)
		}
		if i < 0 || n == 0 {
			return append(out, line[done:]...)
		}
		out = append(append(out, line[done:at[from+i]]...), placeholder...)
		from += i + n
		done = at[from-1] + 1
	}
}

// graphic says whether a character can be in a token (T04).
func graphic(r rune) bool { return r > ' ' && r < 0x7f }

// beginning finds the longest beginning of secret that text ends in.
func beginning(text, secret []byte) (at, n int) {
	for n = min(len(text), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return len(text) - n, n
		}
	}
	return -1, 0
}

// Format answers every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, placeholder) }

// String serves what does not go through package fmt, a panic's value for one.
func (s Secret) String() string { return placeholder }

// MarshalText serves encoding/json, encoding/xml and log/slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(placeholder), nil }

// UnmarshalText lets a request's member be a Secret from the start; it copies text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(bytes.Clone(text))
	return nil
}
