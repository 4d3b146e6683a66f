package llmproxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestP12ClientGoneBeforeTheHeader(t *testing.T) {
	arrived, gone := make(chan bool), make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-r.Context().Done()
		gone <- true
	})
	for i, request := range []string{"GET /sandbox/x HTTP/1.1\r\n", "POST /sandbox/x HTTP/1.1\r\nContent-Length: 3\r\n"} {
		c := r.dial()
		c.send("%sHost: localhost\r\n%s\r\n\r\nabc", request, r.bearer())
		<-arrived
		c.Close()
		<-gone
		r.wantLine(i+1, map[string]any{"status": 0, "code": "", "outcome": "canceled", "session": r.session.ID, "bytes_out": 0})
	}
}

func TestP12ClientGoneInItsBody(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	for i, request := range []string{"Content-Length: 1000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		c := r.dial()
		c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", r.bearer(), request)
		c.Close()
		r.wantLine(i+1, map[string]any{"status": 0, "outcome": "canceled"})
	}
}

func TestP12ClientGoneInTheAnswer(t *testing.T) {
	gone := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, strings.Repeat("x", 1000))
			w.(http.Flusher).Flush()
		}
		close(gone)
	})
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	io.ReadFull(c.r, make([]byte, 5000))
	c.Close()
	<-gone
	r.wantLine(1, map[string]any{"status": 200, "outcome": "aborted"})
}

func TestP12Panic(t *testing.T) {
	log := &logBuffer{}
	r := newRig(t, recordTo(nil))
	r.log = log
	func() {
		defer func() { recover() }()
		l := &line{method: "GET", path: "/sandbox/" + strings.Repeat("x/", 2500)}
		record(&Proxy{config: Config{Log: slogTo(log)}}, l, func(int) { panic("a bug") }, 0)
	}()
	got := r.line(1)
	if got["outcome"] != "aborted" || len(got["path"].(string)) > maxLogPath+3 {
		t.Errorf("%v", got)
	}
}

// stuck is a log that holds each line back until it may go on.
type stuck struct {
	logBuffer
	arrived, goOn chan bool
}

func (s *stuck) Write(p []byte) (int, error) {
	s.arrived <- true
	<-s.goOn
	return s.logBuffer.Write(p)
}

// A launch's proxy ends with its process: what it was still serving must have its line by then.
func TestP12CloseWaitsForTheLine(t *testing.T) {
	arrived := make(chan bool)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-r.Context().Done()
	})
	log := &stuck{arrived: make(chan bool), goOn: make(chan bool)}
	r.proxy.config.Log = slogTo(log)
	c := r.dial()
	c.send("GET /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", r.bearer())
	<-arrived
	closed := make(chan bool)
	go func() {
		r.proxy.Close()
		close(closed)
	}()
	<-log.arrived
	select {
	case <-closed:
		t.Error("closed before the line was written")
	case <-time.After(100 * time.Millisecond):
	}
	close(log.goOn)
	<-closed
	if !strings.Contains(log.String(), `"outcome":"canceled"`) {
		t.Errorf("the log holds %q", log.String())
	}
}

func TestP12CloseBreaksOffAnUpload(t *testing.T) {
	over := make(chan bool)
	r := newRig(t, func(http.ResponseWriter, *http.Request) { <-over })
	defer close(over)
	c := r.dial()
	c.send("POST /sandbox/x HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: 1000000000\r\n\r\n", r.bearer())
	piece := make([]byte, 1<<20)
	for err := error(nil); err == nil; { // until nobody takes any more
		c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		_, err = c.Write(piece)
	}
	if err := r.proxy.Close(); err != nil || !strings.Contains(r.log.String(), `"outcome":"canceled"`) {
		t.Errorf("%v; log %q", err, r.log.String())
	}
}

func TestT08HidePairings(t *testing.T) {
	const p = fuzzPairing
	for sent, want := range map[string]string{
		"/sandbox/v1/messages": "/sandbox/v1/messages",
		"/" + p:                "/[hidden]",
		"/a/" + p + "/b":       "/a/[hidden]/b",
		"/a." + p + p + "~":    "/a.[hidden]~",
		"/%50" + p[1:]:         "/[hidden]",
		"/%zz/" + p:            "/%zz/[hidden]",
		"/" + p[1:]:            "/" + p[1:],
		"/%50%20" + p[1:]:      "/%50%20" + p[1:],
		p:                      "[hidden]",
		"":                     "",
	} {
		if got := hidePairings(sent); got != want {
			t.Errorf("%s: %s, want %s", sent, got, want)
		}
	}
}
