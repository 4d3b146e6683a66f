package server

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
)

var traceShape = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)

// traceID names a request in the log by its caller's own word for it. One of another shape is replaced, and never logged.
func traceID(r *http.Request) string {
	if id := r.Header.Get("X-Trace-Id"); traceShape.MatchString(id) {
		return id
	}
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
