package llmproxy

import (
	"io"
	"net/http"
	"net/textproto"
	"time"
)

// The way back: what the upstream answers, as it comes.

// informational passes on a 1xx answer, except a 100 that the client waits for, which proceed sends.
func (x *exchange) informational(code int, header textproto.MIMEHeader) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.headed || !x.r.ProtoAtLeast(1, 1) || code == http.StatusContinue && x.expects() {
		return nil
	}
	h := x.w.Header()
	responseHeader(h, http.Header(header), &x.credential)
	x.w.WriteHeader(code)
	clear(h)
	return nil
}

// head passes on the answer's status and header. They go out at once, or after flushDelay, because the body may take
// long to come. It returns the length of the body, or -1.
func (x *exchange) head(resp *http.Response) (length int64) {
	x.mu.Lock()
	x.headed = true
	x.mu.Unlock()
	h := x.w.Header()
	responseHeader(h, resp.Header, &x.credential)
	for _, name := range [...]string{"Date", "Content-Type"} {
		if _, ok := h[name]; !ok {
			h[name] = nil // else net/http adds its own
		}
	}
	for name := range x.passedOn(resp.Trailer) {
		h["Trailer"] = append(h["Trailer"], name)
	}
	length = resp.ContentLength
	if len(h["Trailer"]) > 0 && x.r.ProtoAtLeast(1, 1) && x.r.Method != http.MethodHead {
		delete(h, "Content-Length") // HTTP/2 has both; in HTTP/1.1 only a chunked body has a trailer
		length = -1
	}
	if pending(x.r, &x.body) {
		h["Connection"] = []string{"close"} // the rest of the body must not be taken for a request
	}
	x.line.status = resp.StatusCode
	x.w.WriteHeader(resp.StatusCode)
	switch {
	case resp.Body == http.NoBody: // net/http flushes at the end
	case length > 0 && length <= shortBuffer:
		x.flusher = flushSoon(&x.rc)
	default:
		x.rc.Flush()
	}
	return length
}

// copy passes on the body, each piece as it comes. An error of either side is returned; both end the same way.
func (x *exchange) copy(body io.ReadCloser, length int64) error {
	var buf copyBuffer
	if length > 0 {
		buf.size = 1
	}
	defer buf.release()
	n := 0
	for {
		b := buf.next(n)
		if x.line.out == length {
			awaitEnd(body, b)
			return nil
		}
		var err error
		n, err = body.Read(b)
		if x.flusher != nil {
			x.flusher.stop()
			x.flusher = nil
		}
		if n > 0 {
			m, werr := x.w.Write(b[:n])
			x.line.out += int64(m)
			if werr != nil {
				return werr
			}
			if err == nil {
				if werr := x.rc.Flush(); werr != nil {
					return werr
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// awaitEnd waits for the end of a body that has come whole. HTTP/2 sends the end in a frame of its own, and an upstream
// may count a stream that is closed before it as an attack. No end is worth more than lingerTime: the client has all.
func awaitEnd(body io.ReadCloser, b []byte) {
	late := time.AfterFunc(lingerTime, func() { body.Close() })
	defer late.Stop()
	body.Read(b)
}

// trailer passes on the fields that came after the body, announced or not.
func (x *exchange) trailer(trailer http.Header) {
	for name, values := range x.passedOn(trailer) {
		if len(values) > 0 {
			x.w.Header()[http.TrailerPrefix+name] = values
		}
	}
}

// passedOn is what the client sees of an answer's trailer.
func (x *exchange) passedOn(trailer http.Header) http.Header {
	if len(trailer) == 0 {
		return nil
	}
	out := http.Header{}
	copyTrailer(out, trailer, hopByHop, x.credential.secrets[:]...)
	return out
}

// abort breaks the client's connection off, so that a body cut short cannot be taken for a whole one. Before HTTP/1.1 a
// body without a length ends with the connection, so only a reset shows that it was cut.
func (x *exchange) abort() {
	x.broken = true
	if !x.r.ProtoAtLeast(1, 1) {
		resetOnClose(x.r)
	}
	panic(http.ErrAbortHandler)
}
