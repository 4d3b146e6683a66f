package llmproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"hostshim/host/reach"
)

// closedAddress reports that a name leads to where no name may (N03).
type closedAddress struct{}

func (*closedAddress) Error() string { return "the address is closed to names" }

// dialTunnel connects to a listed host: by the host's own HTTP proxy where its environment names one, which then does the
// look-up.
func (e *Egress) dialTunnel(ctx context.Context, h reach.Host) (net.Conn, error) {
	through, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: h.String()}})
	if err != nil {
		return nil, errOuterAddress // the error itself may hold a password
	}
	if through != nil {
		return dialThrough(ctx, through, h.String(), e.proxy.config.Roots)
	}
	return dialDirect(ctx, net.Dialer{}, h)
}

// dialPlain connects to a listed host for a transport, which knows it as host:port.
func dialPlain(ctx context.Context, _, address string) (net.Conn, error) {
	h, err := reach.ParseHost(address, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := dialDirect(ctx, net.Dialer{}, h)
	if err != nil {
		return nil, err
	}
	return upstreamConn{Conn: c, patience: writeTimeout}, nil
}

// dialDirect looks a name up once. Each address is judged right before it is dialled, so that no second look-up can put
// another in its place. A literal address is a listed one. By is how to look up, and what else to ask about an address.
func dialDirect(ctx context.Context, by net.Dialer, h reach.Host) (net.Conn, error) {
	d := by
	if !h.Addr.IsValid() {
		d.Control = func(network, address string, c syscall.RawConn) error {
			if a, err := netip.ParseAddrPort(address); err != nil || reach.Closed(a.Addr()) {
				return &closedAddress{}
			}
			if by.Control == nil {
				return nil
			}
			return by.Control(network, address, c)
		}
	}
	return d.DialContext(ctx, "tcp", h.String())
}

// Why the host's own proxy leads nowhere. Neither text names it.
var (
	errOuterAddress = errors.New("the host's own HTTPS_PROXY is no usable address: want http:// or https://")
	errOuterAnswer  = errors.New("the host's own HTTPS_PROXY refused it")
)

const maxOuterAnswer = 16 << 10

// dialThrough opens a tunnel through an HTTP proxy (RFC 9110, 9.3.6).
func dialThrough(ctx context.Context, proxy *url.URL, target string, roots *x509.CertPool) (c net.Conn, err error) {
	port := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	if port == "" {
		return nil, errOuterAddress
	}
	if proxy.Port() != "" {
		port = proxy.Port()
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	if proxy.Scheme == "https" {
		c, err = (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", address)
	} else {
		c, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	if err = askOuter(c, proxy.User, target); err == nil && stop() {
		return c, nil
	}
	c.Close()
	return nil, errors.Join(err, ctx.Err())
}

func askOuter(c net.Conn, user *url.Userinfo, target string) error {
	ask := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target)
	if user != nil {
		password, _ := user.Password()
		ask = fmt.Appendf(ask, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if _, err := c.Write(append(ask, "\r\n"...)); err != nil {
		return err
	}
	// Byte by byte: what comes after the answer is the tunnel's.
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if len(head) == maxOuterAnswer {
			return errOuterAnswer
		}
		if _, err := io.ReadFull(c, one); err != nil {
			return err
		}
		head = append(head, one[0])
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil || answer.StatusCode != http.StatusOK {
		return errOuterAnswer
	}
	return nil
}
