package client

import (
	"bufio"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"hostshim/host/wire"
)

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

// Missing says how many of the last bytes of a session that has ended were not sent: the host drops a client that takes
// less than 100 KiB a second.
func (a *Attached) Missing(ended wire.Session) int64 { return ended.OutputBytes - a.seen.Load() }

// Attach connects to a session.
func (c *Client) Attach(id string) (*Attached, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(answerWithin))
	r, err := c.request(http.MethodGet, sessionPath(id, "/attach"), nil)
	if err == nil {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", wire.AttachProtocol)
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
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = deaf(answerWithin)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	before, err := strconv.ParseInt(res.Header.Get(wire.OffsetHeader), 10, 64)
	if err != nil {
		before = math.MaxInt64 / 2 // not said: then nothing is known to be missing
	}
	a.seen.Store(before)
	return a, nil
}
