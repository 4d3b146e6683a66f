package server

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"hostshim/host/wire"
)

// pairingRoutes are those of the model proxy, whose errors are plain text (P01).
const pairingRoutes = "/v1/llm-proxy/"

// maxErrorText is how much of an error's plain text is kept.
const maxErrorText = 4 << 10

// jsonErrors gives errors in plain text, which net/http and the pairing routes write, this API's shape. The pairing routes
// keep theirs for whoever does not ask for JSON.
func jsonErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, pairingRoutes) && !asksForJSON(r.Header) {
			next.ServeHTTP(w, r)
			return
		}
		e := &errorWriter{ResponseWriter: w}
		next.ServeHTTP(e, r)
		if e.code != "" {
			answer(w, statusOf(e.code), &wire.Error{Code: e.code, Message: e.message(r)})
		}
	})
}

// asksForJSON says whether a request names JSON as what it accepts; */* does not.
func asksForJSON(h http.Header) bool {
	for _, value := range h.Values("Accept") {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "application/json") {
				return true
			}
		}
	}
	return false
}

// errorWriter keeps an error in plain text back.
type errorWriter struct {
	http.ResponseWriter
	code string // of the error; "": it is none
	text []byte
}

// Unwrap is for http.ResponseController.
func (e *errorWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *errorWriter) WriteHeader(status int) {
	if strings.HasPrefix(e.Header().Get("Content-Type"), "text/plain") {
		e.code = codeOf(status)
	}
	if e.code == "" {
		e.ResponseWriter.WriteHeader(status)
	}
}

func (e *errorWriter) Write(p []byte) (int, error) {
	if e.code == "" {
		return e.ResponseWriter.Write(p)
	}
	e.text = append(e.text, p[:min(len(p), maxErrorText-len(e.text))]...)
	return len(p), nil
}

// codeOf is the code of an error in plain text; "": the status is none of theirs.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return wire.InvalidSpec
	case http.StatusNotFound:
		return wire.NotFound
	case http.StatusMethodNotAllowed:
		return wire.MethodNotAllowed
	case http.StatusConflict:
		return wire.NotListening
	case http.StatusTooManyRequests:
		return wire.TooMany
	}
	return ""
}

// message is the error's own words, but for net/http's, which name neither path nor method.
func (e *errorWriter) message(r *http.Request) string {
	text := string(bytes.TrimSpace(e.text))
	switch {
	case e.code == wire.MethodNotAllowed:
		return fmt.Sprintf("%.128q does not take %.32q but %s", r.URL.Path, r.Method, e.Header().Get("Allow"))
	case text == "404 page not found":
		return fmt.Sprintf("no route %.128q", r.URL.Path)
	}
	return text
}
