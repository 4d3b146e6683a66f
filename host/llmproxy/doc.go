// Package llmproxy is the model proxy. It listens on loopback. A sandboxed program sends its requests to /sandbox with
// a session pairing. The proxy removes whatever credential the program sent, adds the real one, streams the request
// and the answer, and logs one line for each request. Programs outside a sandbox use every other path, with the
// device pairing.
//
// The files, in the order in which a request meets them:
//
//   - proxy.go has the listeners, listener.go bounds their connections, budget.go the headers that are still coming, and
//     early.go answers the requests that net/http refuses by itself.
//   - route.go has the two routes, gate.go the checks that come first, refusal.go the proxy's own answers.
//   - registry.go knows the live pairings, policy.go who may have one.
//   - client.go says with which credential and within which limits a client's requests go upstream.
//   - header.go says which headers go upstream and come back. forward.go sends the request, answer.go passes on the answer,
//     body.go reads the request's body, upstream.go holds the connections to the provider.
//   - log.go writes the line.
//   - egress.go lets a session out to listed hosts: egress_tunnel.go opens what a CONNECT asks for, with
//     egress_hello.go for what comes first in it and egress_dial.go for the way, and egress_relay.go moves its bytes,
//     many at once as egress_flow.go says; egress_plain.go is for http URLs.
//
// Two files are no part of that path: api.go serves the host's API for pairings, device.go keeps the device pairing.
//
// Three rules hold throughout:
//
//   - No setting is read before every check has passed, so a caller without a pairing learns nothing.
//   - Only the SHA-256 of a pairing is kept. The real credential is read for each request, and appears in no log line,
//     error or answer.
//   - No body is buffered whole. An idle stream costs its goroutines, net/http's buffers and one small buffer.
package llmproxy
