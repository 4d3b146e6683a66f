package llmproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Forwarding does without httputil.ReverseProxy. That one cleans the query, which must arrive as it was sent, and copies
// the headers of 1xx answers without a filter, so that an upstream could echo the credential there.

// lingerTime is how long a client may go on sending a body that nobody wants, after its answer. A connection closed at
// once would be reset, and the answer lost with it.
const lingerTime = time.Second

// exchange is one request on its way. It is one allocation, because hundreds may be open at once.
type exchange struct {
	proxy       *Proxy
	only        string // the one session of this listener, or ""
	service     string // that the request is for; "": the model
	w           http.ResponseWriter
	r           *http.Request
	rc          http.ResponseController
	path, query string // as sent
	line        line
	egress      *Egress // the session's way out, if the request is for another host

	presented  string // the pairing's secret, which must not go upstream
	credential sent   // must not come back
	target     url.URL
	out        http.Request
	body       requestBody
	traced     traced
	flusher    *flusher
	broken     bool // the client's connection ends in the middle of the answer

	mu     sync.Mutex // between the transport's goroutines, which pass on 1xx, and the answer itself
	headed bool       // the answer's header is written, so no 1xx may follow
}

// traced is a request's context with what the transport tells of its answer. Httptrace's own would be an allocation.
type traced struct {
	context.Context
	trace httptrace.ClientTrace
}

// withTrace knows the key by which the transport asks.
var withTrace = httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{})

func (t *traced) Value(key any) any {
	if withTrace.Value(key) != nil {
		return &t.trace
	}
	return t.Context.Value(key)
}

// forward sends a request that passed every check to the upstream, and the answer back (P08–P10). What
// decided that has returned by then: a stream keeps each frame above it for hours.
func (x *exchange) forward(through *http.Transport, no *refusal) {
	if no != nil {
		x.refuse(no)
		return
	}
	x.send(through, requestHeader(x.r.Header, x.presented, &x.credential))
}

// send sends the request that is prepared, and the answer back.
func (x *exchange) send(through *http.Transport, header http.Header) {
	defer x.finish()
	x.request(header)
	resp, err := through.RoundTrip(&x.out)
	if err != nil {
		x.failed(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 999 {
		x.refuse(refuseStatus)
		return
	}
	if err := x.copy(resp.Body, x.head(resp)); err != nil {
		x.abort()
	}
	x.trailer(resp.Trailer)
	x.line.outcome = outcomeComplete
}

// prepare reads where the request goes and with which credential, and counts it against its client's limits. The target
// is the path and the query for the upstream.
func (x *exchange) prepare(pairing *Pairing, target string) *refusal {
	provider, err := x.proxy.provider(pairing, x.service)
	if err != nil {
		return &refusal{http.StatusServiceUnavailable, "credential_unavailable", err.Error(), 0}
	}
	shaped := x.credential.shape(provider.Auth, provider.Credential.Reveal())
	provider.Credential.Wipe()
	switch {
	case !shaped:
		return &refusal{http.StatusServiceUnavailable, "credential_unavailable", "the auth of this client is unknown", 0}
	case provider.Auth == googleAuth && keyInQuery(x.query):
		return refuseKey
	case !provider.Limits.allow(x.r.Method, target, x.r.Header):
		return provider.Limits.refuse(x.service, x.r.Method, target, x.r.Header)
	case !locate(&x.target, provider.Upstream, target):
		return refusePath
	case pairing.ID == "":
		return nil // the device route counts nothing
	}
	return x.proxy.registry.spend(pairing.ID, provider.Limits, x.service == "")
}

// request builds the request for the upstream. Its body may still be read while the answer comes.
func (x *exchange) request(header http.Header) {
	r := x.r
	x.traced.Context, x.traced.trace.Got1xxResponse = r.Context(), x.informational
	x.out = *(&http.Request{
		Method: r.Method, URL: &x.target, Header: header, ContentLength: r.ContentLength,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(&x.traced)
	if r.ContentLength == 0 {
		x.out.Body = http.NoBody
		return
	}
	x.body.source, x.body.owner = r.Body, x
	x.out.Body = &x.body
	if r.ContentLength < 0 {
		// Without this the transport would hold back a GET until it has seen a first byte of the body.
		x.out.TransferEncoding = []string{"chunked"}
		x.out.Trailer = make(http.Header, len(r.Trailer))
		for name := range r.Trailer {
			if !stripped(name) && !holds(name, nil, x.presented) {
				x.out.Trailer[name] = nil
			}
		}
	}
}

// sentAll runs at the end of the client's body, when its trailer is complete.
func (x *exchange) sentAll() {
	if x.out.Trailer != nil {
		copyTrailer(x.out.Trailer, x.r.Trailer, stripped, x.presented)
	}
}

// proceed runs before the first read of the body. With Expect: 100-continue that is when the upstream wants the body.
// Net/http would tell the client by itself, but not in order with other 1xx answers.
func (x *exchange) proceed() {
	if !x.expects() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.headed {
		x.w.WriteHeader(http.StatusContinue)
	}
}

func (x *exchange) expects() bool {
	return x.r.ContentLength != 0 && len(x.r.Header["Expect"]) > 0
}

// failed answers when the upstream gave no answer.
func (x *exchange) failed(err error) {
	switch {
	case x.r.Context().Err() != nil:
		x.line.canceled()
		x.abort()
	case x.body.failure.Load() != nil: // the client is still there, so its body is malformed
		x.refuse(refuseBody)
	case x.egress != nil:
		x.refuse(unreachable(x.target.Host, err))
	case isTimeout(err):
		x.lost("no answer in time")
		x.refuse(refuseTimeout)
	default:
		x.lost(reason(err))
		x.refuse(&refusal{http.StatusBadGateway, "gateway_unreachable", x.server() + " cannot be reached: " + reason(err), 0})
	}
}

// server is where the request was to go, for who sent it: no address.
func (x *exchange) server() string {
	if x.service != "" {
		return fmt.Sprintf("service %q", x.service)
	}
	return "the model provider"
}

// lost notes for the session's owner, who may name the upstream, what the client's answer says without it.
func (x *exchange) lost(reason string) {
	x.proxy.registry.lost(x.line.session, x.target.Scheme+"://"+x.target.Host+": "+reason)
}

// finish ensures that nothing of this request goes on after it: no 1xx, and no read of the client's body.
func (x *exchange) finish() {
	x.mu.Lock()
	x.headed = true
	x.mu.Unlock()
	unread := pending(x.r, &x.body)
	if unread {
		x.body.over.Store(true)
		x.rc.SetReadDeadline(time.Unix(1, 0)) // ends the read in progress, which received waits for
	}
	x.line.in = x.body.received()
	if unread && !x.broken {
		x.rc.SetReadDeadline(time.Now().Add(lingerTime))
	}
}

// refuse sends an answer of the proxy's own. It does not wait for a client that is still sending.
func (x *exchange) refuse(no *refusal) {
	x.mu.Lock()
	x.headed = true
	x.mu.Unlock()
	x.line.answered(no)
	h := x.w.Header()
	clear(h)
	body := no.body()
	h["Content-Type"] = []string{"application/json"}
	if x.service != "" && strings.HasPrefix(x.r.UserAgent(), "git/") {
		h["Content-Type"] = []string{"text/plain"} // git shows its user nothing else
		body = []byte(no.code + ": " + no.message + "\n")
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if no.status == http.StatusMethodNotAllowed {
		h["Allow"] = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	}
	if no.status == http.StatusProxyAuthRequired {
		h["Proxy-Authenticate"] = []string{`Basic realm="session"`}
		h["Connection"] = []string{"close"}
	}
	if no.retryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(no.retryAfter)}
	}
	unread := pending(x.r, &x.body)
	if unread {
		h["Connection"] = []string{"close"}
	}
	x.w.WriteHeader(no.status)
	x.w.Write(body)
	if unread {
		x.rc.Flush()
		x.rc.SetReadDeadline(time.Now().Add(lingerTime))
	}
}
