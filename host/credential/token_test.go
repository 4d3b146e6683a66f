package credential

import (
	"bytes"
	"strings"
	"testing"

	"hostshim/shim"
)

func TestT03T04Trim(t *testing.T) {
	full := strings.Repeat("a", shim.MaxToken)
	alone := func(what string) string { return "looks like " + what + ": it must hold the token alone" }
	const character = "holds a character that no token has"
	for _, c := range []struct{ name, in, want, err string }{
		{"plain", "tok", "tok", ""},
		{"newline", "tok\n", "tok", ""},
		{"DOS line", "tok\r\n", "tok", ""},
		{"all white space", " \t\n\v\f\rtok\r\f\v\n\t ", "tok", ""},
		{"first and last allowed", "!~", "!~", ""},
		{"quotes", `"tok"`, "", alone("a text in quotes")},
		{"quotes of a shell", `'tok'`, "", alone("a text in quotes")},
		{"assignment", "CLAUDE_CODE_OAUTH_TOKEN=tok\n", "", alone("an assignment NAME=VALUE")},
		{"exported", "export TOKEN=\"tok\"", "", alone("an assignment NAME=VALUE")},
		{"JSON", "{\n \"accessToken\": \"tok\"}", "", alone("JSON")},
		{"list", `["tok"]`, "", alone("JSON")},
		{"header", "x-api-key: tok", "", alone("a header")},
		{"bearer", "Bearer tok", "", alone("a header")},
		{"base64 with padding", "YWJj=", "YWJj=", ""},
		{"more padding", "YWI==", "YWI==", ""},
		{"equals sign in a token", "sk-ant-x=y", "sk-ant-x=y", ""},
		{"quote in a token", `tok"`, `tok"`, ""},
		{"largest", full, full, ""},
		{"one byte", "x", "x", ""},
		{"nothing", "", "", "empty"},
		{"white space only", " \r\n", "", "empty"},
		{"one over", full + "a", "", "larger than 4096 bytes"},
		{"white space counts", full[1:] + "\r\n", "", "larger than 4096 bytes"},
		{"much white space", strings.Repeat("\n", shim.MaxToken+1), "", "larger than 4096 bytes"},
		{"byte order mark", "\ufefftok", "", character},
		{"UTF-16", "\xff\xfet\x00o\x00", "", character},
		{"space inside", "to ken", "", character},
		{"two lines", "tok\nken", "", character},
		{"tab inside", "to\tken", "", character},
		{"NUL", "tok\x00", "", character},
		{"NUL first", "\x00tok", "", character},
		{"escape", "\x1b[31mtok", "", character},
		{"delete", "tok\x7f", "", character},
		{"Latin-1", "tok\xe9", "", character},
		{"no-break space", "tok\u00a0", "", character},
		{"next line", "tok\u0085", "", character},
		{"line separator", "tok\u2028", "", character},
	} {
		got, err := trim([]byte(c.in))
		if errText(err) != c.err || err == nil && string(got) != c.want {
			t.Errorf("%s: got %q, %v; want %q, %s", c.name, got, err, c.want, c.err)
		}
	}
}

func TestT04EveryByte(t *testing.T) {
	for c := range 256 {
		err := Check([]byte{'a', byte(c), 'a'})
		if allowed := c >= 0x21 && c <= 0x7E; allowed != (err == nil) {
			t.Errorf("byte %#x: %v", c, err)
		}
	}
}

func FuzzTrim(f *testing.F) {
	for _, seed := range []string{"", "tok\n", " a b ", "\ufeffx", "\x00", strings.Repeat("a", 5000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		token, err := trim(bytes.Clone(content))
		if err != nil {
			switch err.Error() {
			case "looks like a text in quotes: it must hold the token alone", "looks like JSON: it must hold the token alone",
				"looks like an assignment NAME=VALUE: it must hold the token alone", "looks like a header: it must hold the token alone":
			case "empty", "larger than 4096 bytes", "holds a character that no token has":
			default:
				t.Errorf("the error says %q", err)
			}
			return
		}
		if len(token) == 0 || len(token) > shim.MaxToken || !bytes.Contains(content, token) {
			t.Fatalf("%q becomes %q", content, token)
		}
		for _, c := range token {
			if c <= ' ' || c >= 0x7F {
				t.Fatalf("%q holds %#x", token, c)
			}
		}
		if rest := bytes.Replace(content, token, nil, 1); strings.Trim(string(rest), " \t\n\v\f\r") != "" {
			t.Errorf("lost %q", rest)
		}
		if again, err := trim(token); err != nil || !bytes.Equal(again, token) {
			t.Errorf("%q becomes %q, %v", token, again, err)
		}
	})
}
