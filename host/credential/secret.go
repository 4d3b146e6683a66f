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

// Redact returns line with every occurrence of the content replaced. Cut a line to its length afterwards,
// never before: half a token would no longer be found.
func (s Secret) Redact(line []byte) []byte {
	if s.Empty() || !bytes.Contains(line, s.Reveal()) {
		return line
	}
	return bytes.ReplaceAll(line, s.Reveal(), []byte(placeholder))
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
