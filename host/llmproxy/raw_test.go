package llmproxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// raw is a client connection that says exactly what it is told.
type raw struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (r *rig) dial() *raw { return dialRaw(r.t, r.addr) }

func dialRaw(t *testing.T, addr string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { c.Close() })
	return &raw{t, c, bufio.NewReader(c)}
}

func (c *raw) send(format string, args ...any) *raw {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// response reads a whole response; method tells whether it has a body.
func (c *raw) response(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("response: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("response body: %v", err)
	}
	return resp, string(body)
}

// get sends one request with the pairing and any further header lines.
func (r *rig) get(method, target string, header ...string) (*http.Response, string) {
	r.t.Helper()
	c := r.dial()
	defer c.Close()
	head := ""
	for _, h := range header {
		head += h + "\r\n"
	}
	c.send("%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", method, target, r.addr, head)
	return c.response(method)
}

func (r *rig) bearer() string { return "Authorization: Bearer " + r.pairing }

// code returns a refusal's code after checking its whole shape.
func code(t *testing.T, resp *http.Response, body string) string {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Code, Message string }
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != "error" || e.Error.Type == "" || e.Error.Message == "" {
		t.Errorf("status %d, body %q: not the error shape (%v)", resp.StatusCode, body, err)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	return e.Error.Code
}
