package llmproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// The waits of P10.
const (
	dialTimeout     = 30 * time.Second
	headerTimeout   = 600 * time.Second
	writeTimeout    = headerTimeout // of each piece of a request, because headerTimeout only begins once it is sent
	continueTimeout = time.Second   // for an upstream that does not know Expect: 100-continue
)

// NewUpstream makes the pool of connections of one pairing. Roots are the certificates to trust; nil: the system's.
func NewUpstream(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, // never for a loopback upstream
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return upstreamConn{Conn: c, patience: writeTimeout}, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: 4 << 20, // generous: one header over it breaks an HTTP/2 connection
		MaxIdleConnsPerHost:    256,     // with too few, each request would open a connection
		IdleConnTimeout:        50 * time.Second,
		ReadBufferSize:         2 << 10, // bodies bypass both
		WriteBufferSize:        1 << 10,
		DisableCompression:     true, // the body passes as it is
		ForceAttemptHTTP2:      true, // DialContext would turn it off
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: 256 << 10, // what piles up here for a client that stalls
			SendPingTimeout:           30 * time.Second,
			PingTimeout:               15 * time.Second,
		},
	}
}

// locate sets out to a URL at base whose request line is the path of base and then target (path and query), byte for
// byte. Package url would encode some characters anew. Its opaque form does not, but turns a target that starts with two
// slashes into a full URL. A path that needs both cannot be sent as it is, and locate returns false.
func locate(out, base *url.URL, target string) bool {
	target = strings.TrimSuffix(base.EscapedPath(), "/") + target
	out.Scheme, out.Host = base.Scheme, base.Host
	if !strings.HasPrefix(target, "//") {
		out.Opaque = target
		return true
	}
	path, query := splitTarget(target)
	if query != "" {
		out.RawQuery, out.ForceQuery = query[1:], true
	}
	out.Path, _ = url.PathUnescape(path)
	out.RawPath = path
	return out.EscapedPath() == path
}

// upstreamConn sends a request's body from a pooled buffer, where the connection's own ReadFrom would allocate one for
// each request. A request ends when the upstream does not read a piece of it within patience.
type upstreamConn struct {
	net.Conn
	patience time.Duration
	closed   func() // called when it is; nil: nobody is told
}

func (c upstreamConn) Close() error {
	if c.closed != nil {
		defer c.closed()
	}
	return c.Conn.Close()
}

func (c upstreamConn) Write(b []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(c.patience))
	return c.Conn.Write(b)
}

func (c upstreamConn) ReadFrom(r io.Reader) (sent int64, err error) {
	b := buffers[largest].Get().(*buffer)
	defer buffers[largest].Put(b)
	for {
		n, rerr := r.Read(b.bytes)
		if n > 0 {
			m, err := c.Write(b.bytes[:n])
			sent += int64(m)
			if err != nil {
				return sent, err
			}
		}
		if rerr == io.EOF {
			return sent, nil
		}
		if rerr != nil {
			return sent, rerr
		}
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// reason says in a few words why the upstream cannot be reached. The error itself must not reach a sandbox: it may name
// the address of the upstream, or that of an HTTP proxy before it with a password in it.
func reason(err error) string {
	var (
		dns     *net.DNSError
		errno   syscall.Errno
		invalid *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, errNoneLeft):
		return errNoneLeft.Error()
	case errors.As(err, &dns):
		return "its name cannot be resolved"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &invalid), errors.As(err, &unknown):
		return "its certificate is not trusted"
	case errors.As(err, &record):
		return "it does not speak TLS"
	}
	return "the connection broke off before an answer"
}
