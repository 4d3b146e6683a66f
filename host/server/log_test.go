package server

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestLogNobodyReads(t *testing.T) {
	r, w := io.Pipe()
	log, flush := NewLog(w, slog.LevelInfo, JSONLines)
	for range 3 * maxQueued {
		log.Info("line") // returns, though nothing is read
	}
	got := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		got <- string(text)
	}()
	flush()
	w.Close()
	text := <-got
	if n := strings.Count(text, `"msg":"line"`); n < maxQueued || n > maxQueued+1 {
		t.Errorf("%d lines, want those of the queue", n)
	}
	if strings.Count(text, `"msg":"log lines were lost, since nobody read them","lost":`) != 1 {
		t.Error("the loss is not told")
	}
}

func TestLogFlush(t *testing.T) {
	var buf bytes.Buffer
	log, flush := NewLog(&buf, slog.LevelWarn, JSONLines)
	log.Info("not shown")
	log.Warn("shown", "n", 1)
	flush()
	if text := buf.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"msg":"shown","n":1}`) {
		t.Errorf("logged %q", text)
	}
	log.Warn("after the end") // goes nowhere, and waits for nobody
}
