package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"hostshim/host/credential"
	"hostshim/host/state"
)

// A host that stops in the middle of its answer is as deaf as one that sends none, and the error says after what time.
func TestH15AnswerThatStalls(t *testing.T) {
	dir := t.TempDir()
	places := state.Places{State: dir}
	l, err := net.Listen("unix", filepath.Join(dir, "host.sock"))
	if err != nil {
		t.Skip(err) // the folder's name is too long here
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			http.ReadRequest(bufio.NewReader(c)) // an answer before the request is none
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sessions\": ")
		}
	}()
	c, err := New(places, credential.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	const limit = 30 * time.Millisecond
	res, err := c.sendWithin(limit, "GET", "/sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); string(text) != `{"sessions": ` || err == nil || err.Error() != deaf(limit).Error() {
		t.Errorf("%q, %v, want %v", text, err, deaf(limit))
	}
}
