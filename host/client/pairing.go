package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"hostshim/host/wire"
)

// ErrNoPairings is a running host that has no session API.
var ErrNoPairings = errors.New("the running host knows no pairings")

// CreatePairing makes a pairing for a client id. An idle of 0 is the settings' own.
func (c *Client) CreatePairing(clientID string, idle time.Duration) (p wire.Pairing, err error) {
	request := map[string]any{"clientId": clientID}
	if idle != 0 {
		request["idleTimeoutSeconds"] = int64(idle / time.Second)
	}
	return p, c.pairing(http.MethodPost, wire.PairingsPath, request, &p)
}

// Pairings lists the live pairings, oldest first.
func (c *Client) Pairings() ([]wire.Pairing, error) {
	answer := wire.Pairings{Sessions: []wire.Pairing{}}
	return answer.Sessions, c.pairing(http.MethodGet, wire.PairingsPath, nil, &answer)
}

// RevokePairing ends a pairing.
func (c *Client) RevokePairing(id string) error {
	return c.pairing(http.MethodDelete, wire.PairingsPath+"/"+id, nil, nil)
}

// pairing is a request to the session API, whose errors are plain text (P01).
func (c *Client) pairing(method, path string, in, out any) error {
	body, err := jsonBody(in)
	if err != nil {
		return err
	}
	res, err := c.send(method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
		text = bytes.TrimSpace(text)
		switch {
		case res.StatusCode == http.StatusNotFound && len(text) == 0:
			return ErrNoPairings
		case res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusUnauthorized:
			res.Body = io.NopCloser(bytes.NewReader(text))
			return wordsOf(res)
		}
		return fmt.Errorf("%s (%d)", text, res.StatusCode)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(out)
}
