package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"hostshim/host/credential"
)

// logged writes pieces through a stderrLog and returns what reached the log, by line, with levels.
func logged(secrets []credential.Secret, pieces ...string) (lines, levels []string, s *stderrLog) {
	var buf bytes.Buffer
	s = &stderrLog{log: slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})), secrets: secrets}
	for _, p := range pieces {
		s.Write([]byte(p))
	}
	s.end()
	for d := json.NewDecoder(&buf); d.More(); {
		var row struct{ Level, Line string }
		if err := d.Decode(&row); err != nil {
			panic(err)
		}
		lines, levels = append(lines, row.Line), append(levels, row.Level)
	}
	return lines, levels, s
}

func TestT08StderrLinesHoldNoSecret(t *testing.T) {
	token := strings.Repeat("tok", 1300) // longer than what is shown
	key := "model-key"
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"plain", []string{"it is " + key + "!\n"}, "it is [secret]!"},
		{"in pieces", []string{"it is mod", "el-", "key", "!\nx"}, "it is [secret]!"},
		{"twice", []string{key + key + "\n"}, "[secret][secret]"},
		{"over the cut", []string{strings.Repeat("a", maxStderrLine-4) + token + "\n"}, strings.Repeat("a", maxStderrLine-4) + "[sec"},
		{"no line end", []string{"a " + key}, "a [secret]"},
		{"cut", []string{strings.Repeat("b", 5000) + "\n"}, strings.Repeat("b", maxStderrLine)},
		{"endless", []string{strings.Repeat("c", 1<<20), strings.Repeat("d", 1<<20) + "\n"}, strings.Repeat("c", maxStderrLine)},
		{"control", []string{"\x1b[31mred\x1b[0m\ta\x00\xff\u0085b\r\n"}, "red\ta?b"},
	} {
		lines, _, _ := logged([]credential.Secret{credential.NewSecret([]byte(token)), {}, credential.NewSecret([]byte(key))}, c.pieces...)
		if len(lines) == 0 || lines[0] != c.want {
			t.Errorf("%s: logged %.80q, want %.80q", c.name, lines, c.want)
		}
		for _, line := range lines {
			if strings.Contains(line, "toktok") || strings.Contains(line, "key") {
				t.Errorf("%s: a secret is in %.80q", c.name, line)
			}
		}
	}
}

// spell puts noise, without what ends a line or can be in a token, before, between and after the characters of secret.
func spell(secret string, noise []byte) string {
	noise = slices.DeleteFunc(slices.Clone(noise), func(c byte) bool { return c == '\n' || c > ' ' && c < 0x7f })
	noise = noise[:min(len(noise), 64)]
	return string(noise) + strings.Join(strings.Split(secret, ""), string(noise)) + string(noise)
}

func TestT08StderrSpellings(t *testing.T) {
	const token = "sk-ant-oat01-0123456789"
	for name, noise := range map[string]string{"NUL": "\x00", "CR": "\r", "blank": " ", "bell": "\a\a", "UTF-32": "\x00\x00\x00",
		"not UTF-8": "\xff", "next line": "\u0085", "escape": "\x1b", "long": strings.Repeat("\x00", 60), "many blanks": strings.Repeat(" ", 300)} {
		lines, _, _ := logged([]credential.Secret{credential.NewSecret([]byte(token))}, "x"+spell(token, []byte(noise))+"y\n")
		if len(lines) != 1 || !strings.Contains(lines[0], "[secret]") || strings.Contains(lines[0], "9") {
			t.Errorf("%s: logged %q", name, lines)
		}
	}
	lines, _, _ := logged([]credential.Secret{credential.NewSecret([]byte(token))}, "x\x1b[31m"+strings.Join(strings.Split(token, ""), "\x1b[1;32m")+"\x1b[0my\n")
	if len(lines) != 1 || lines[0] != "x[secret]y" {
		t.Errorf("in colours: logged %q", lines)
	}
	for _, line := range []string{"\n", "\r\n", "\n\n", " \n"} {
		lines, _, _ := logged([]credential.Secret{credential.NewSecret([]byte(token))}, "before\n"+strings.Join(strings.Split(token, ""), line)+line+"after it\n")
		if len(lines) != 2 || lines[0] != "before" || strings.Join(strings.Fields(lines[1]), " ") != "[secret] after it" {
			t.Errorf("a character a line, by %q: logged %q", line, lines)
		}
	}
}

func TestH15StderrIsBounded(t *testing.T) {
	for name, text := range map[string]string{"a line without end": strings.Repeat("x", 1<<20), "short lines": strings.Repeat("x\n", 1<<20)} {
		s := &stderrLog{log: discard}
		for range 4 {
			s.Write([]byte(text))
		}
		if cap(s.line) > 2*maxStderrBuffer || len(s.last) > keptLines {
			t.Errorf("%s: %d bytes and %d lines are kept", name, cap(s.line), len(s.last))
		}
	}
}

func FuzzStderr(f *testing.F) {
	f.Add("before ", "after\n", []byte{0}, 3)
	f.Add("\x1b[", "m\n", []byte("\r"), 1)
	f.Add(strings.Repeat("x", maxStderrBuffer-20), "", []byte(" "), 1000)
	f.Fuzz(func(t *testing.T, before, after string, noise []byte, size int) {
		const token = "sk-ant-oat01-0123456789"
		text := before + spell(token, noise) + after
		var pieces []string
		for size = max(1, size); len(text) > size; text = text[size:] {
			pieces = append(pieces, text[:size])
		}
		lines, _, s := logged([]credential.Secret{credential.NewSecret([]byte(token))}, append(pieces, text)...)
		for _, line := range append(lines, s.tail()...) {
			bare := strings.Map(func(r rune) rune {
				if r <= ' ' || r >= 0x7f {
					return -1
				}
				return r
			}, line)
			if strings.Contains(bare, token) || len(line) > maxStderrLine*3 || strings.ContainsAny(line, "\x00\x1b\r\x7f\u0085") {
				t.Errorf("logged %q", line)
			}
		}
	})
}

func TestStderrLevelsAndTail(t *testing.T) {
	var text strings.Builder
	for i := range 25 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	lines, levels, s := logged(nil, text.String())
	if len(lines) != 25 || strings.Join(levels, " ") != strings.TrimSpace(strings.Repeat("WARN ", 20)+strings.Repeat("DEBUG ", 5)) {
		t.Errorf("%d lines at levels %v", len(lines), levels)
	}
	if tail := s.tail(); len(tail) != keptLines || tail[0] != "line 15" || tail[9] != "line 24" {
		t.Errorf("kept %q", tail)
	}
}
