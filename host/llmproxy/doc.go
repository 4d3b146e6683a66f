// Package llmproxy is the loopback model proxy: a sandboxed program presents a session pairing on /sandbox,
// the proxy takes away whatever credential the program sent, adds the real one, streams both ways and leaves
// one line for each request. Programs outside a sandbox use every other path, with the device pairing.
//
// Read in this order, the way of a request: proxy.go (listeners) and listener.go (how many connections), route.go (the
// two routes), gate.go and refusal.go (the checks that come first), registry.go and policy.go (which pairing is which session, and who may have one), header.go (what is taken away, what is added),
// forward.go (upstream and back) with body.go (the request's body), log.go (the line). Beside that way:
// early.go (requests that net/http refuses by itself), upstream.go (the pool of connections), device.go (the
// device pairing's file), api.go (create, list, revoke on the host's own socket).
//
// What holds throughout:
//
//   - Every check stands before the first read of configuration: who has no pairing learns nothing.
//   - A pairing is kept as a SHA-256 only. The real credential is read anew for each request, and is never
//     in a log line, an error or an answer.
//   - Nothing is buffered whole. An idle stream costs its goroutines, net/http's buffers and one small buffer.
package llmproxy
