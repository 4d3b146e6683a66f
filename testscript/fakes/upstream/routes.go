package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// number is a query parameter.
func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return n
	}
	return otherwise
}

// echo answers with the request as it arrived: {"method","uri","proto","host","headers":[[name,value]…],"body":{…}}.
func echo(w http.ResponseWriter, r *http.Request, in seen) {
	headers := [][2]string{}
	for name, values := range r.Header {
		for _, v := range values {
			if slices.Contains(secretHeaders, name) {
				scheme, _, ok := strings.Cut(v, " ")
				if !ok {
					scheme = ""
				}
				v = strings.TrimSpace(scheme + " " + hashed(v))
			}
			headers = append(headers, [2]string{name, v})
		}
	}
	slices.SortFunc(headers, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	out.Encode(map[string]any{
		"method": r.Method, "uri": r.RequestURI, "proto": r.Proto, "host": r.Host, "headers": headers,
		"transfer": r.TransferEncoding, "length": r.ContentLength, "trailers": r.Trailer,
		"body": map[string]any{"bytes": in.bytes, "sha256": in.sum},
	})
}

// bytes?n=N: a sized body.
func sendBytes(w http.ResponseWriter, r *http.Request, _ seen) {
	n := number(r, "n", 1024)
	w.Header().Set("Content-Length", strconv.Itoa(n))
	writeBytes(w, n)
}

// chunked?n=N: the same without a size.
func chunked(w http.ResponseWriter, r *http.Request, _ seen) {
	w.(http.Flusher).Flush()
	writeBytes(w, number(r, "n", 1024))
}

func writeBytes(w io.Writer, n int) {
	chunk := []byte(strings.Repeat("0123456789abcde\n", 4096))
	for ; n > 0; n -= len(chunk) {
		if _, err := w.Write(chunk[:min(n, len(chunk))]); err != nil {
			return
		}
	}
}

// status/N: that status; 204 and 304 without a body.
func sendStatus(w http.ResponseWriter, r *http.Request, _ seen) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
	if err != nil || n < 200 || n > 599 {
		n = 400
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_1")
	w.WriteHeader(n)
	if n != 204 && n != 304 {
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"status %d"}}`, n)
	}
}

func redirect(w http.ResponseWriter, r *http.Request, _ seen) {
	to := r.URL.Query().Get("to")
	if to == "" {
		to = "/echo"
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func event(w http.ResponseWriter, text string) error {
	_, err := fmt.Fprintf(w, "data: %s\n\n", text)
	w.(http.Flusher).Flush()
	return err
}

// events?n=N&gap=MS: N server-sent events with a gap before each but the first.
func events(w http.ResponseWriter, r *http.Request, _ seen) {
	w.Header().Set("Content-Type", "text/event-stream")
	gap := time.Duration(number(r, "gap", 0)) * time.Millisecond
	for i := range number(r, "n", 3) {
		if i > 0 {
			select {
			case <-time.After(gap):
			case <-r.Context().Done():
				return
			}
		}
		if event(w, strconv.Itoa(i+1)) != nil {
			return
		}
	}
}

// driven: the script says what comes, a line each on standard input: `headers`, `event TEXT`, `end`, `cut`.
func driven(w http.ResponseWriter, r *http.Request, _ seen) {
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case <-r.Context().Done():
			return
		case line := <-control:
			word, text, _ := strings.Cut(line, " ")
			switch word {
			case "headers":
				w.(http.Flusher).Flush()
			case "event":
				event(w, text)
			case "end":
				return
			case "cut":
				panic(http.ErrAbortHandler)
			}
		}
	}
}

// cut?n=N[&sized=M]: N bytes of a body, of which M were promised, and then the connection breaks.
func cut(w http.ResponseWriter, r *http.Request, _ seen) {
	if m := number(r, "sized", 0); m > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(m))
	}
	writeBytes(w, number(r, "n", 100))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// silent never sends a header.
func silent(w http.ResponseWriter, r *http.Request, _ seen) {
	say("silent: %s", r.URL.Path)
	<-r.Context().Done()
}

func trailers(w http.ResponseWriter, r *http.Request, _ seen) {
	w.Header().Set("Trailer", "X-Checksum")
	io.WriteString(w, "body with a trailer\n")
	w.Header().Set("X-Checksum", "abc123")
	w.Header().Set(http.TrailerPrefix+"X-Unannounced", "late")
}

// early sends 103 and 102 before the answer.
func early(w http.ResponseWriter, r *http.Request, _ seen) {
	w.Header().Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Del("Link")
	w.WriteHeader(http.StatusProcessing)
	io.WriteString(w, "after early hints\n")
}

// gzip answers compressed, asked or not; the hash of the bytes on the wire is in a header.
func gzipped(w http.ResponseWriter, r *http.Request, _ seen) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("X-Accept-Encoding", textproto.TrimString(r.Header.Get("Accept-Encoding")))
	z := gzip.NewWriter(w)
	io.WriteString(z, "compressed text\n")
	z.Close()
}
