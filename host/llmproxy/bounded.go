package llmproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"hostshim/host/descriptors"
)

// dialCost is what a connection takes while it is made, descriptors for the look-up of its name included.
const dialCost = 3

var errNoneLeft = errors.New("the host has as many connections open as it may")

// newUpstream makes a pool of connections whose number is bounded together with all others that the proxy makes (H15).
func (p *Proxy) newUpstream(part *descriptors.Part) *http.Transport {
	t := NewUpstream(p.config.Roots)
	t.DialContext = p.bounded(part, t.CloseIdleConnections, t.DialContext)
	return t
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// bounded bounds the connections that connect, which returns upstreamConns, has open.
func (p *Proxy) bounded(part *descriptors.Part, closeOwn func(), connect dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := p.makeOne(part, closeOwn, func() (net.Conn, error) { return connect(ctx, network, address) })
		if err != nil {
			return nil, err
		}
		own := c.(upstreamConn)
		own.closed = sync.OnceFunc(func() { part.Give(1) })
		return own, nil
	}
}

// makeOne makes a connection, which the caller gives back when it is closed. Where too few descriptors are left it closes
// what is idle first.
func (p *Proxy) makeOne(part *descriptors.Part, closeOwn func(), connect func() (net.Conn, error)) (net.Conn, error) {
	if !part.Take(dialCost) {
		if closeOwn(); p.out.Short(dialCost) { // the others' only where they have what is missing
			p.closeIdle()
		}
		if !part.Take(dialCost) {
			return nil, errNoneLeft
		}
	}
	c, err := connect()
	if err != nil {
		part.Give(dialCost)
		return nil, err
	}
	part.Give(dialCost - 1)
	return c, nil
}

// closeIdle closes every connection that the proxy made and that serves no request.
func (p *Proxy) closeIdle() {
	p.upstream.CloseIdleConnections()
	for _, pairing := range p.registry.list() {
		pairing.upstream.CloseIdleConnections()
		if out := pairing.Out; out != nil {
			out.direct.CloseIdleConnections()
			out.proxied.CloseIdleConnections()
		}
	}
}
