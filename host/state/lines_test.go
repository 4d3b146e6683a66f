package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// linesOf are the lines that a reading passes on, each with where it begins.
func linesOf(read func(each func(int64, []byte) error) error) (list []string, err error) {
	err = read(func(at int64, line []byte) error {
		text := fmt.Sprintf("%d:%s", at, line)
		if line == nil {
			text = fmt.Sprintf("%d long", at)
		}
		list = append(list, text)
		return nil
	})
	return list, err
}

func bothWays(text string, block, most int) (forward, back []string, err error) {
	forward, err1 := linesOf(func(each func(int64, []byte) error) error { return readLines(strings.NewReader(text), most, each) })
	back, err2 := linesOf(func(each func(int64, []byte) error) error {
		return readLinesBack(strings.NewReader(text), int64(len(text)), block, most, each)
	})
	return forward, back, errors.Join(err1, err2)
}

func TestH09LinesBothWays(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"\n":                    "0:",
		"a":                     "0:a",
		"a\n":                   "0:a",
		"a\nbc":                 "0:a 2:bc",
		"a\r\n\nbc\n":           "0:a 3: 4:bc",
		"\n\n":                  "0: 1:",
		"1234567\n":             "0:1234567",
		"12345678\nb\n":         "0 long 9:b",
		"a\n12345678901234567":  "0:a 2 long",
		"1234567890123456\n\nb": "0 long 17: 18:b",
	} {
		for block := 1; block < 20; block++ {
			forward, back, err := bothWays(text, block, 8)
			slices.Reverse(back)
			if got := strings.Join(forward, " "); got != want || err != nil {
				t.Errorf("%q: %q, want %q (%v)", text, got, want, err)
			}
			if got := strings.Join(back, " "); got != want {
				t.Errorf("%q, from the end by %d: %q, want %q", text, block, got, want)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("{}\r\n\n[]\n{\"ts\"", uint8(3), uint8(5))
	f.Fuzz(func(t *testing.T, text string, block, most uint8) {
		forward, back, err := bothWays(text, int(block)+1, int(most)+2)
		slices.Reverse(back)
		if err != nil || !slices.Equal(forward, back) {
			t.Errorf("%q: %q, from the end %q (%v)", text, forward, back, err)
		}
	})
}

// TestH09LastRows counts how much of a file is read for its last rows.
func TestH09LastRows(t *testing.T) {
	row := `{"event":"session_end","session_id":"%s"}` + "\n"
	text := fmt.Sprintf(row, "first") + strings.Repeat(fmt.Sprintf(row, "many"), 50_000) + `{"cut`
	for _, c := range []struct {
		id   string
		n    int
		want int64 // where the last rows begin
		read int   // at most
	}{
		{"", 1, int64(len(text) - 5 - 44), backBlock},
		{"many", 3000, int64(len(text) - 5 - 3000*44), 3 * backBlock},
		{"first", 2, 0, len(text)},
		{"none", 1, int64(len(text)), len(text)},
	} {
		file := &counted{Reader: strings.NewReader(text)}
		at, err := LastRows(file, int64(len(text)), c.n, func(r Row) bool { return c.id == "" || r.SessionID == c.id })
		if at != c.want || err != nil || file.read > c.read {
			t.Errorf("%+v: begin at %d (%v), %d bytes were read", c, at, err, file.read)
		}
	}
}

type counted struct {
	*strings.Reader
	read int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.read += n
	return n, err
}
