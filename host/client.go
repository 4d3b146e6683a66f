package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"hostshim/host/credential"
)

// Client talks to the running host of a state folder.
type Client struct {
	socket string
	bearer credential.Secret
	http   *http.Client
}

// NoHost says that no host runs.
type NoHost struct{ Socket string }

func (e *NoHost) Error() string { return "no host runs on " + e.Socket }

// NewClient makes a client of the host at p. It calls nobody yet.
func NewClient(p Places, bearer credential.Secret) (*Client, error) {
	c := &Client{socket: p.Socket(), bearer: bearer}
	if err := checkSocketPath(c.socket); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
	}}
	return c, nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", c.socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, &NoHost{c.socket}
	}
	return conn, err
}

func (c *Client) request(method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequest(method, "http://host"+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if !c.bearer.Empty() {
		r.Header.Set("Authorization", "Bearer "+string(c.bearer.Reveal()))
	}
	return r, nil
}

// Do makes one request. An answer that is no success is an error in the host's own words.
func (c *Client) Do(method, path string, body io.Reader) (*http.Response, error) {
	res, err := c.send(method, path, body)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close()
	return nil, wordsOf(res)
}

// send makes one request and takes whatever answer comes.
func (c *Client) send(method, path string, body io.Reader) (*http.Response, error) {
	r, err := c.request(method, path, body)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without method and made-up URL
	}
	return res, err
}

// wordsOf is an answer's error.
func wordsOf(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var e wireError
	switch {
	case json.Unmarshal(text, &e) == nil && e.Error != "":
		return &Refusal{e.Error, e.Message}
	case res.StatusCode == http.StatusForbidden:
		return errors.New("the host refuses this process: it belongs to a session, or to another user")
	case res.StatusCode == http.StatusUnauthorized:
		return errors.New("the host wants a bearer: give it with --bearer-fd")
	}
	return fmt.Errorf("the host answered %s: %.200s", res.Status, bytes.TrimSpace(text))
}

// jsonBody is a request's body, nil for nil.
func jsonBody(in any) (io.Reader, error) {
	if in == nil {
		return nil, nil
	}
	text, err := json.Marshal(in)
	return bytes.NewReader(text), err
}

// call makes a request with a JSON body, if in is not nil, and reads a JSON answer into out, if out is not nil.
func (c *Client) call(method, path string, in, out any) error {
	body, err := jsonBody(in)
	if err != nil {
		return err
	}
	res, err := c.Do(method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

func sessionPath(id, rest string) string { return "/sessions/" + url.PathEscape(id) + rest }

// Sessions lists sessions, oldest first.
func (c *Client) Sessions() ([]SessionView, error) {
	var answer struct{ Sessions []SessionView }
	return answer.Sessions, c.callInto(&answer, "/sessions")
}

// Session is one session.
func (c *Client) Session(id string) (v SessionView, err error) {
	return v, c.callInto(&v, sessionPath(id, ""))
}

// Status is the running host.
func (c *Client) Status() (v HostStatus, err error) { return v, c.callInto(&v, "/status") }

func (c *Client) callInto(out any, path string) error { return c.call(http.MethodGet, path, nil, out) }

// Launch asks for a session on a terminal, with the host's own profile if it is to be sandboxed.
func (c *Client) Launch(r *Request) (SessionView, error) {
	request := map[string]any{
		"v": 1, "session_id": r.SessionID, "kind": r.Kind, "directory": r.Directory, "name": r.Name, "template_id": r.TemplateID,
		"argv": r.Argv, "env": r.Env, "pty": map[string]int{"cols": r.Cols, "rows": r.Rows}, "credential": r.Credential,
	}
	if r.Sandbox {
		request["sandbox"] = struct{}{}
	}
	var answer launched
	err := c.call(http.MethodPost, "/launch", request, &answer)
	return answer.Body, err
}

// Terminate ends a session.
func (c *Client) Terminate(id, reason string) error {
	return c.call(http.MethodPost, "/terminate", map[string]string{"session_id": id, "reason": reason}, nil)
}

// Resize sets the size of a session's terminal.
func (c *Client) Resize(id string, cols, rows int) error {
	return c.call(http.MethodPost, sessionPath(id, "/resize"), map[string]int{"cols": cols, "rows": rows}, nil)
}

// Log is a session's output so far, or with follow until it ends.
func (c *Client) Log(id string, follow bool) (io.ReadCloser, error) {
	path := sessionPath(id, "/log")
	if follow {
		path += "?follow=1"
	}
	res, err := c.Do(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Attached is a raw connection to a session: reading is its output, writing its input.
type Attached struct {
	net.Conn
	from *bufio.Reader
	seen atomic.Int64
}

func (a *Attached) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	a.seen.Add(int64(n))
	return n, err
}

// Missing says how many of the last bytes of a session that has ended were not sent: the host drops who takes less
// than 100 KiB a second.
func (a *Attached) Missing(ended SessionView) int64 { return ended.OutputBytes - a.seen.Load() }

// Attach connects to a session.
func (c *Client) Attach(id string) (*Attached, error) {
	conn, err := c.dial(context.Background())
	if err != nil {
		return nil, err
	}
	r, err := c.request(http.MethodGet, sessionPath(id, "/attach"), nil)
	if err == nil {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", upgradeName)
		err = r.Write(conn)
	}
	a := &Attached{Conn: conn, from: bufio.NewReader(conn)}
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(a.from, r)
	}
	if err == nil && res.StatusCode != http.StatusSwitchingProtocols {
		err = wordsOf(res)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	before, err := strconv.ParseInt(res.Header.Get(offsetHeader), 10, 64)
	if err != nil {
		before = math.MaxInt64 / 2 // an older host does not say: then nothing is known to be missing
	}
	a.seen.Store(before)
	return a, nil
}

// ReadBearer takes a bearer from an inherited descriptor, which it closes.
func ReadBearer(fd int) (credential.Secret, error) {
	f, err := inheritedFile(fd)
	if err != nil {
		return credential.Secret{}, fmt.Errorf("--bearer-fd: %w", err)
	}
	defer f.Close()
	buf, n := make([]byte, maxBearer+1), 0
	for n < len(buf) && err == nil {
		var m int
		m, err = f.Read(buf[n:])
		n += m
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		clear(buf)
		return credential.Secret{}, fmt.Errorf("--bearer-fd: fd %d: %w", fd, err)
	case n > maxBearer:
		clear(buf)
		return credential.Secret{}, fmt.Errorf("--bearer-fd: fd %d: larger than %d bytes", fd, maxBearer)
	}
	bearer := bytes.TrimSpace(buf[:n])
	if err := credential.Check(bearer); err != nil {
		clear(buf)
		return credential.Secret{}, fmt.Errorf("--bearer-fd: fd %d: %w", fd, err)
	}
	return credential.NewSecret(bearer), nil
}
