// Package client talks to the running host of a state folder.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"hostshim/host/credential"
	"hostshim/host/state"
	"hostshim/host/wire"
)

// Client makes requests. It is safe for use by several goroutines.
type Client struct {
	places state.Places
	socket string
	bearer credential.Secret
	http   *http.Client
}

// How long a host may take to answer. A launch answers when its target has started.
const (
	answerWithin = 10 * time.Second
	launchWithin = 30 * time.Second
)

// deaf is a host that lives and does not answer.
func deaf(within time.Duration) error {
	return fmt.Errorf("the host does not answer within %v: it is stopped, or overloaded", within)
}

// NoHost says that no host runs.
type NoHost struct{ Socket string }

func (e *NoHost) Error() string { return "no host runs on " + e.Socket }

// New makes a client of the host at p, with the bearer that it wants; an empty one is none. It calls nobody yet.
func New(p state.Places, bearer credential.Secret) (*Client, error) {
	if err := p.CheckSocket(); err != nil {
		return nil, err
	}
	c := &Client{places: p, socket: p.Socket(), bearer: bearer}
	c.http = &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
	}}
	return c, nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	for ; errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil; conn, err = (&net.Dialer{}).DialContext(ctx, "unix", c.socket) {
		time.Sleep(20 * time.Millisecond) // more connections wait for the host than the system keeps
	}
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
	return successful(c.send(method, path, body))
}

func successful(res *http.Response, err error) (*http.Response, error) {
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close()
	return nil, wordsOf(res)
}

// send makes one request and takes whatever answer comes.
func (c *Client) send(method, path string, body io.Reader) (*http.Response, error) {
	return c.sendWithin(answerWithin, method, path, body)
}

// sendWithin limits the time to the end of the answer.
func (c *Client) sendWithin(limit time.Duration, method, path string, body io.Reader) (*http.Response, error) {
	r, err := c.request(method, path, body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(limit, func() { cancel(deaf(limit)) })
	res, err := c.http.Do(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without method and made-up URL
		}
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	res.Body = &limited{res.Body, ctx, timer}
	return res, nil
}

// limited is an answer's body that has to come within the time of timer.
type limited struct {
	io.ReadCloser
	ctx   context.Context
	timer *time.Timer
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = cmp.Or(context.Cause(l.ctx), err)
	}
	return n, err
}

func (l *limited) Close() error {
	l.timer.Stop()
	return l.ReadCloser.Close()
}

// wordsOf is an answer's error.
func wordsOf(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var e wire.Error
	switch {
	case json.Unmarshal(text, &e) == nil && e.Code != "":
		return &e
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
func (c *Client) Sessions() ([]wire.Session, error) {
	var answer wire.Sessions
	return answer.Sessions, c.callInto(&answer, "/sessions")
}

// Session is one session.
func (c *Client) Session(id string) (v wire.Session, err error) {
	return v, c.callInto(&v, sessionPath(id, ""))
}

// Status is the running host.
func (c *Client) Status() (v wire.Host, err error) { return v, c.callInto(&v, "/status") }

func (c *Client) callInto(out any, path string) error { return c.call(http.MethodGet, path, nil, out) }

// Launch asks for a session.
func (c *Client) Launch(r wire.Launch) (wire.Session, error) {
	body, err := jsonBody(r)
	if err != nil {
		return wire.Session{}, err
	}
	res, err := c.PostLaunch(body)
	if err != nil {
		return wire.Session{}, err
	}
	defer res.Body.Close()
	var answer wire.Launched
	err = json.NewDecoder(res.Body).Decode(&answer)
	return answer.Body.Session, err
}

// PostLaunch sends a launch request as it is. It asks first whether the host answers at all, since a launch takes longer.
func (c *Client) PostLaunch(body io.Reader) (*http.Response, error) {
	if _, err := c.Status(); err != nil {
		return nil, err
	}
	return successful(c.sendWithin(launchWithin, http.MethodPost, "/launch", body))
}

// Terminate ends a session.
func (c *Client) Terminate(id, reason string) error {
	return c.call(http.MethodPost, "/terminate", wire.Terminate{SessionID: id, Reason: reason}, nil)
}

// Resize sets the size of a session's terminal.
func (c *Client) Resize(id string, cols, rows int) error {
	return c.call(http.MethodPost, sessionPath(id, "/resize"), wire.Size{Cols: cols, Rows: rows}, nil)
}

// Log is a session's output so far from byte since on, as far as it is kept, or with follow until it ends.
func (c *Client) Log(id string, follow bool, since uint64) (io.ReadCloser, error) {
	path := sessionPath(id, "/log?since="+strconv.FormatUint(since, 10))
	if follow {
		path += "&follow=1"
	}
	res, err := c.Do(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	res.Body.(*limited).timer.Stop() // output may take as long as whoever reads it
	return res.Body, nil
}
