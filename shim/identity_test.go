package shim

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestCheckAnswer(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":7}}`:                   true,
		`{"type":"OK","more":[1],"data":{"kind":"project_session","service_id":"s","relay_pid":7,"x":{}}}`: true,
		`{"type":"ok","data":{"kind":"project_session","service_id":"s","relay_pid":7}}`:                   false,
		`{"type":"OK","data":{"kind":"project","service_id":"s","relay_pid":7}}`:                           false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"S","relay_pid":7}}`:                   false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":0}}`:                   false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":"7"}}`:                 false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"s"}}`:                                 false,
		`{"TYPE":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":7}}`:                   false,
		`{"type":"OK","data":{"Kind":"project_session","service_id":"s","relay_pid":7}}`:                   false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":7.5}}`:                 false,
		`{"type":"OK","data":null}`:     false,
		`{"type":"Error","error":"no"}`: false,
		``:                              false,
		`null`:                          false,
		`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":7}} x`: false,
	} {
		if err := checkAnswer([]byte(line), "s"); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestReadToEnd(t *testing.T) {
	read := func(content string, keepOpen bool, limit int) (string, error) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		w.WriteString(content)
		if !keepOpen {
			w.Close()
		}
		b, err := readToEnd(int(r.Fd()), limit, 50*time.Millisecond)
		return string(b), err
	}
	if s, err := read("abc", false, 65); s != "abc" || err != nil {
		t.Errorf("to the end: %q, %v", s, err)
	}
	if s, err := read(strings.Repeat("a", 100), true, 65); len(s) != 65 || err != nil {
		t.Errorf("over the limit: %d bytes, %v", len(s), err)
	}
	if _, err := read("abc", true, 65); err == nil || !strings.Contains(err.Error(), "did not end within") {
		t.Errorf("never ending: %v", err)
	}
}

func TestValidSecret(t *testing.T) {
	good := strings.Repeat("0a", 32)
	for s, ok := range map[string]bool{good: true, strings.ToUpper(good): false, good[1:]: false, good + "0": false, good[:63] + "\n": false, good[:63] + "g": false, "": false} {
		if validSecret([]byte(s)) != ok {
			t.Errorf("%q: %v", s, !ok)
		}
	}
}
