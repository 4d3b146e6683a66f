package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
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
		{"control", []string{"\x1b[31mred\x1b[0m\ta\x00\xff\u0085b\r\n"}, "[31mred[0m\ta?b"},
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
