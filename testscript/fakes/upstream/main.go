// Command upstream plays a model provider for the proxy, and records what reached it. It listens on a free
// loopback port and prints
//
//	ready: http://127.0.0.1:PORT
//	request: METHOD /path?query HTTP/1.1 credential=sha256:… bytes=N
//
// one line a request when its body has been read, and `gone: /path` when a client leaves before its answer's end.
// No credential is printed: each is shown as its SHA-256.
//
//	upstream [-answer TEXT] [-bash COMMAND] [-token-sha256 HEX] [-unix SOCKET]
//
// With -unix it listens there, and plays a host from before there were pairings: every answer is an empty 404.
// Paths: /echo /bytes /status /redirect /events /driven /cut /silent /trailers /early /gzip /chunked; /v1/messages as
// the Messages API answers it, /v1/chat/completions and /v1/responses as OpenAI's, /v1beta/models/… as Gemini's. With
// -token-sha256 every other credential gets 401.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

var (
	answerText = flag.String("answer", "hello from upstream", "what /v1/messages says")
	bashLine   = flag.String("bash", "", "a command that /v1/messages asks the client's Bash tool to run first")
	tokenSum   = flag.String("token-sha256", "", "the only credential accepted")
	socket     = flag.String("unix", "", "Unix socket of an older host to play")
	printing   sync.Mutex
)

func main() {
	flag.Parse()
	network, address := "tcp", "127.0.0.1:0"
	if *socket != "" {
		network, address = "unix", *socket
	}
	l, err := net.Listen(network, address)
	if err == nil {
		say("ready: http://%s", l.Addr())
		go readControl()
		err = (&http.Server{Handler: http.HandlerFunc(serve)}).Serve(l)
	}
	fmt.Fprintln(os.Stderr, "upstream: error:", err)
	os.Exit(1)
}

func say(format string, args ...any) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Printf(format+"\n", args...)
}

// control carries the lines of standard input to /driven.
var control = make(chan string)

func readControl() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		control <- lines.Text()
	}
}

var routes = map[string]func(w http.ResponseWriter, r *http.Request, in seen){
	"echo": echo, "bytes": sendBytes, "status": sendStatus, "redirect": redirect, "events": events,
	"driven": driven, "cut": cut, "silent": silent, "trailers": trailers, "early": early, "gzip": gzipped,
	"chunked": chunked, "v1": model, "v1beta": gemini,
}

// seen is a request's body: its size and hash, and for the Messages API its text.
type seen struct {
	text  []byte
	bytes int64
	sum   string
}

// model answers below /v1/, as Anthropic and OpenAI do.
func model(w http.ResponseWriter, r *http.Request, in seen) {
	switch {
	case r.URL.Path == "/v1/chat/completions":
		chat(w, in)
	case r.URL.Path == "/v1/responses":
		responses(w, in)
	case strings.HasPrefix(r.URL.Path, "/v1/models"):
		models(w, r.URL.Path)
	default:
		messages(w, r, in)
	}
}

func readBody(r *http.Request) (seen, error) {
	sum, text := sha256.New(), &bytes.Buffer{}
	var to io.Writer = sum
	if strings.HasPrefix(r.URL.Path, "/v1") {
		to = io.MultiWriter(sum, text)
	}
	n, err := io.Copy(to, r.Body)
	return seen{text.Bytes(), n, hex.EncodeToString(sum.Sum(nil))}, err
}

func serve(w http.ResponseWriter, r *http.Request) {
	in, err := readBody(r)
	credential := "none"
	if c := credentials(r.Header); len(c) > 0 {
		credential = strings.Join(c, ",")
	}
	cutShort := ""
	if err != nil {
		cutShort = " cut"
	}
	say("request: %s %s %s credential=%s bytes=%d%s", r.Method, r.RequestURI, r.Proto, credential, in.bytes, cutShort)
	if *tokenSum != "" && credential != "sha256:"+*tokenSum {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid bearer token"}}`)
		return
	}
	if *socket != "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if route := routes[first]; route != nil {
		route(w, r, in)
		if r.Context().Err() != nil {
			say("gone: %s", r.URL.Path)
		}
		return
	}
	if r.URL.Path == "/" {
		return
	}
	http.NotFound(w, r)
}

// secretHeaders are shown by hash, wherever they are shown.
var secretHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "X-Llm-Token", "Proxy-Authorization", "Cookie", "X-Agentdesktop-Pairing"}

func credentials(h http.Header) []string {
	var all []string
	for _, name := range secretHeaders {
		for _, v := range h.Values(name) {
			all = append(all, hashed(v))
		}
	}
	return all
}

// hashed also shows the user of Basic.
func hashed(v string) string {
	user := ""
	if rest, ok := strings.CutPrefix(v, "Basic "); ok {
		if pair, err := base64.StdEncoding.DecodeString(rest); err == nil {
			name, password, _ := strings.Cut(string(pair), ":")
			user, v = "basic:"+name+":", password
		}
	}
	return fmt.Sprintf("%ssha256:%x", user, sha256.Sum256([]byte(strings.TrimPrefix(v, "Bearer "))))
}
