package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// readBody reads a request's body. A buffer that proves too small is wiped: bodies hold secrets.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	conn := http.NewResponseController(w)
	conn.SetReadDeadline(time.Now().Add(bodyWithin))
	defer conn.SetReadDeadline(time.Time{})
	buf, n := make([]byte, max(512, r.ContentLength+1)), 0 // bodies.take has room for it
	for {
		m, err := r.Body.Read(buf[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			if b, ok := r.Body.(*wholeBody); ok {
				b.memory.shrink(int64(n))
			}
			return buf[:n], nil
		case n > maxBody:
			clear(buf)
			return nil, errBodyTooLarge
		case err != nil:
			clear(buf)
			return nil, fmt.Errorf("the body broke off after %d bytes", n)
		case n == len(buf):
			larger := make([]byte, min(4*n, maxBody+1))
			copy(larger, buf)
			clear(buf)
			buf = larger
		}
	}
}

// bodySize is how much memory a request's body may take.
func bodySize(r *http.Request) int64 {
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return maxBody
	}
	return r.ContentLength
}

// wholeBody closes the connection after the answer unless the body was read to its end. Otherwise net/http would wait for
// the rest of the body without a limit.
type wholeBody struct {
	io.ReadCloser
	header http.Header // of the answer
	memory *lease
	from   *caller
}

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.header.Del("Connection")
		b.from.all.begin(b.from)
	}
	return n, err
}

// leave bounds what is still read of a body that nobody wanted whole.
func (b *wholeBody) leave(w http.ResponseWriter) {
	if b.header.Get("Connection") == "close" {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(restWithin))
	}
}
