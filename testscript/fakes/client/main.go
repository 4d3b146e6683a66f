// Command client sends one HTTP request and prints the answer as it comes, so that scripts need no other:
//
//	client [-unix SOCKET] [-X METHOD] [-H 'Name: value']… [-d TEXT|@FILE|@-] [-chunked] [-expect] [-i] URL
//
// The body goes to standard output; -i puts `status: N`, `header Name: value` and `1xx: N` lines before it and
// `trailer Name: value` lines after. Nothing is added to the request but Host and what a body needs; no redirect
// is followed, nothing uncompressed. The path goes out as it is written. A header's last word may be @FILE, which
// keeps a secret out of the arguments. Exit status: 0 for an answer of any status, 1 for none, 2 for one whose body
// broke off.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

var (
	socket  = flag.String("unix", "", "Unix socket to dial, whatever URL names")
	method  = flag.String("X", "", "method")
	data    = flag.String("d", "", "body; @FILE or @- reads it")
	unsized = flag.Bool("chunked", false, "send the body without its size")
	include = flag.Bool("i", false, "print status, headers and trailers too")
	expect  = flag.Bool("expect", false, "ask for 100 Continue before the body")
	headers []string
)

func main() {
	flag.Func("H", "header", func(h string) error { headers = append(headers, h); return nil })
	flag.Parse()
	req, err := request(flag.Arg(0))
	if err != nil {
		fail(1, err)
	}
	transport := &http.Transport{DisableCompression: true, ExpectContinueTimeout: 5 * time.Second}
	if *socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", *socket)
		}
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		fail(1, err)
	}
	defer res.Body.Close()
	if *include {
		fmt.Println("status:", res.StatusCode)
		printHeaders("header", res.Header)
	}
	if _, err := io.Copy(os.Stdout, res.Body); err != nil {
		fail(2, err)
	}
	if *include {
		printHeaders("trailer", res.Trailer)
	}
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "client: error:", err)
	os.Exit(status)
}

func request(target string) (*http.Request, error) {
	var body io.Reader
	name := "GET"
	if *data != "" {
		content, err := content(*data)
		if err != nil {
			return nil, err
		}
		body, name = bytes.NewReader(content), "POST"
		if *unsized {
			body = io.MultiReader(body)
		}
	}
	if *method != "" {
		name = *method
	}
	req, err := http.NewRequest(name, "http://placeholder/", body)
	if err != nil {
		return nil, err
	}
	req.URL = asWritten(target)
	req.Host = req.URL.Host
	req.Header = http.Header{"User-Agent": nil}
	if *expect {
		req.Header.Set("Expect", "100-continue")
	}
	for _, h := range headers {
		if err := addHeader(req, h); err != nil {
			return nil, err
		}
	}
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if *include {
			fmt.Println("1xx:", code)
			printHeaders("1xx header", http.Header(h))
		}
		return nil
	}}
	return req.WithContext(httptrace.WithClientTrace(context.Background(), trace)), nil
}

// asWritten keeps path and query as they are, escapes that no URL has included.
func asWritten(target string) *url.URL {
	scheme, rest, _ := strings.Cut(target, "://")
	host, raw, _ := strings.Cut(rest, "/")
	u, err := url.Parse(target)
	// Without a path nothing can be changed; an opaque part that begins with two slashes would be taken for a host.
	if err == nil && (u.Path == "" || strings.HasPrefix(raw, "/")) {
		return u
	}
	return &url.URL{Scheme: scheme, Host: host, Opaque: "/" + raw}
}

// addHeader adds one `Name: value`; where the value ends in @FILE, with what the file holds.
func addHeader(req *http.Request, header string) error {
	name, value, _ := strings.Cut(header, ":")
	value = strings.TrimSpace(value)
	if at := strings.LastIndexByte(value, '@'); at == 0 || at > 0 && value[at-1] == ' ' {
		text, err := os.ReadFile(value[at+1:])
		if err != nil {
			return err
		}
		value = value[:at] + strings.TrimSpace(string(text))
	}
	if strings.EqualFold(name, "Host") {
		req.Host = value
	} else {
		req.Header.Add(name, value)
	}
	return nil
}

func content(arg string) ([]byte, error) {
	switch path, isFile := strings.CutPrefix(arg, "@"); {
	case path == "-" && isFile:
		return io.ReadAll(os.Stdin)
	case isFile:
		return os.ReadFile(path)
	}
	return []byte(arg), nil
}

func printHeaders(label string, h http.Header) {
	var lines []string
	for name, values := range h {
		for _, v := range values {
			lines = append(lines, fmt.Sprintf("%s %s: %s", label, name, v))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
